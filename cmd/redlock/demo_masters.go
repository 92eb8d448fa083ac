package main

import (
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// testMaster is a master that the demo can do things to. What it held is kept over a kill.
type testMaster interface {
	newClient() *redis.Client
	kill()
	restart() error
	freeze() error
	thaw() error
	stop()
}

func startEmbeddedMasters(n int) ([]testMaster, error) {
	masters := make([]testMaster, n)
	for i := range masters {
		masters[i] = embeddedMaster{embedded.New()}
	}
	return masters, nil
}

type embeddedMaster struct{ s *embedded.Server }

func (m embeddedMaster) newClient() *redis.Client { return redis.NewClient(m.s.Options()) }
func (m embeddedMaster) kill()                    { m.s.Kill(false) }
func (m embeddedMaster) restart() error           { return m.s.Restart() }
func (m embeddedMaster) freeze() error            { m.s.Pause(); return nil }
func (m embeddedMaster) thaw() error              { m.s.Resume(); return nil }
func (m embeddedMaster) stop()                    { m.s.Close() }

// startRealMasters starts redis-server processes that forget nothing of what they have answered.
func startRealMasters(n int) ([]testMaster, error) {
	servers, err := redisproc.StartN(n, redisproc.Config{AppendFsync: "always"})
	if err != nil {
		return nil, err
	}
	masters := make([]testMaster, n)
	for i, s := range servers {
		masters[i] = realMaster{s}
	}
	return masters, nil
}

type realMaster struct{ s *redisproc.Server }

func (m realMaster) newClient() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                  m.s.Addr(),
		Protocol:              2,
		MaxRetries:            -1,
		DialerRetries:         1,
		ContextTimeoutEnabled: true,
		DisableIdentity:       true,
		DialTimeout:           demoTimeout,
	})
}

func (m realMaster) kill()          { m.s.Kill() }
func (m realMaster) restart() error { return m.s.Restart() }
func (m realMaster) freeze() error  { return m.s.Pause() }
func (m realMaster) thaw() error    { return m.s.Resume() }
func (m realMaster) stop()          { _ = m.s.Stop() } // what may be left is a temporary folder

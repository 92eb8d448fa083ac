package fault

import (
	"testing"
	"time"
)

func TestWhomAFaultHurtsAndUntilWhen(t *testing.T) {
	t.Parallel()
	const silent, quarantine = time.Second, 4 * time.Second
	all := everyMaster
	for _, c := range []struct {
		fault     string
		masters   Masters // that c1 misses
		after     time.Duration
		unsettles Masters
	}{
		{"kill(m2,lost,1s)", MastersOf(2), quarantine, 0},
		{"kill(m2+m3,kept,1s)", MastersOf(2, 3), quarantine, 0},
		{"truncate(m2,7,1s)", MastersOf(2), quarantine, 0},
		{"restore(m2,1s,1s)", MastersOf(2), quarantine, 0},
		{"evict(m2,10%)", MastersOf(2), quarantine, 0},
		{"cache(m2,1s)", MastersOf(2), quarantine, 0},
		{"aof-off(m2,1s)", MastersOf(2), quarantine, 0},
		{"old-file(m2,1s,1s)", MastersOf(2), quarantine, 0},
		{"replicaof(m2,m1,1s)", MastersOf(2), quarantine, 0},
		{"astray(c1,m2,m1,1s)", all, quarantine, MastersOf(1, 2)},
		{"astray(c2,m2,m5,1s)", all, quarantine, MastersOf(2, 5)},
		{"spoil(m2,above)", MastersOf(2), quarantine, 0},
		{"password(m2,new)", MastersOf(2), silent, 0},
		{"refuse(m2,1s)", MastersOf(2), silent, 0},
		{"rolling-restart(m0+m1,1s)", MastersOf(0, 1), quarantine, 0},
		{"freeze(m0,1s)", MastersOf(0), silent, 0},
		{"thaw(m0)", MastersOf(0), silent, 0},
		{"disk-full(m0,1s)", MastersOf(0), quarantine, 0},
		{"promote(m0,1s)", MastersOf(0), quarantine, 0},
		{"flushall(m0)", MastersOf(0), quarantine, 0},
		{"script-flush(m0)", MastersOf(0), silent, 0},
		{"oom(m0,1s)", MastersOf(0), silent, 0},
		{"busy(m0,1s)", MastersOf(0), silent, 0},
		{"clock(m0+m6,5s,1s)", MastersOf(0, 6), quarantine, 0},
		{"strobe(m0,5s,1s,1s)", MastersOf(0), quarantine, 0},
		{"drift(m0,0.5%,1s)", MastersOf(0), quarantine, 0},
		{"partition(*,m0,both,1s)", MastersOf(0), silent, 0},
		{"partition(c1+c2,m0+m1,to-server,1s)", MastersOf(0, 1), silent, 0},
		{"partition(c0+c10,m0+m1,to-server,1s)", 0, 0, 0},
		{"stall(c1,m0,both,1s)", MastersOf(0), silent, 0},
		{"delay(c1,m0,10ms,1s)", MastersOf(0), silent, 0},
		{"drop-request(c1,m0,2,1s)", MastersOf(0), silent, 0},
		{"drop-reply(c1,m0,2,1s)", MastersOf(0), silent, 0},
		{"duplicate(c1,m0,2,1s)", MastersOf(0), silent, 0},
		{"late-copy(c1,m0,5ms,2,1s)", MastersOf(0), silent, 0},
		{"cut(c1,m0,to-server,7,2,1s)", MastersOf(0), silent, 0},
		{"cut(c2,m0,to-server,7,2,1s)", 0, 0, 0},
		{"stop-client(c1,1s)", all, silent, 0},
		{"stop-client(c2,1s)", 0, 0, 0},
		{"kill-client(*,1s)", all, silent, 0},
		{"suspend(m1+m2,0s,1s)", all, quarantine, MastersOf(1, 2)},
		{"replace(m1,m5,0s,1s)", all, quarantine, MastersOf(1, 5)},
		{"add(m5,0s,1s)", all, quarantine, MastersOf(5)},
		{"remove(m1,0s,1s)", all, quarantine, MastersOf(1)},
		{"force(n2,0s)", 0, silent, 0},
		{"init(m0+m1)", all, quarantine, all},
	} {
		f, err := Parse(c.fault)
		if err != nil {
			t.Fatal(err)
		}
		if masters, after := f.Hurts("c1", silent, quarantine); masters != c.masters || after != c.after {
			t.Errorf("%s hurts %v for %v after its end, want %v for %v", c.fault, masters, after, c.masters, c.after)
		}
		if masters := f.Unsettles(); masters != c.unsettles {
			t.Errorf("%s unsettles %v, want %v", c.fault, masters, c.unsettles)
		}
	}
}

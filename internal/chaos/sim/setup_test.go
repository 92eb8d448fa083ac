package sim

import "testing"

// In some rounds one client names only some of the founders, but always a majority.
func TestMasterLists(t *testing.T) {
	t.Parallel()
	rounds := 0
	for seed := range uint64(300) {
		s := newSetup(seed, 5)
		lacking := 0
		for client := range s.clients {
			named := 0
			for _, n := range s.list(client) {
				if n < s.founders {
					named++
				}
			}
			if named < s.founders {
				lacking++
			}
			if 2*named <= s.founders {
				t.Errorf("seed %d: client %d names %v, which is no majority of the %d founders", seed, client, s.list(client), s.founders)
			}
		}
		if lacking > 0 {
			rounds++
		}
		if lacking > 1 {
			t.Errorf("seed %d: %d clients lack founders", seed, lacking)
		}
		if s, err := s.with("lacks=0"); err != nil || len(s.list(0)) < s.founders {
			t.Errorf("seed %d: %v, though none is to lack any: %v", seed, s.list(0), err)
		}
	}
	if rounds < 300/6 || rounds > 300/2 {
		t.Errorf("in %d of 300 rounds a client lacks a founder, want it now and then", rounds)
	}
}

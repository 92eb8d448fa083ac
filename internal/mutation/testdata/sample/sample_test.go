package sample

import "testing"

func TestGreater(t *testing.T) {
	if greater(1, 2) != 2 || greater(2, 1) != 2 || greater(1, 1) != 1 {
		t.Fail()
	}
}

func TestWords(t *testing.T) {
	if words([]string{"a", "", "b"}) != 2 {
		t.Fail()
	}
}

func TestInside(t *testing.T) {
	if !inside(1, 1, 3) || inside(0, 1, 3) || inside(4, 1, 3) {
		t.Fail()
	}
}

func TestRest(t *testing.T) {
	if rest(1) != 0 {
		t.Fail()
	}
}

func TestDoubled(t *testing.T) {
	if doubled(2) != 4 {
		t.Fail()
	}
}

func TestForever(t *testing.T) {
	if forever(func() int { return 1 }) != 1 {
		t.Fail()
	}
}

func TestThatFails(t *testing.T) {
	nobodyCalls(1)
	t.Fail()
}

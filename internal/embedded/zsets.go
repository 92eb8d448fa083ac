package embedded

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// zset is a sorted set.
type zset struct {
	scores map[string]float64
	order  []scored // by score, then by name
}

type scored struct {
	score float64
	name  string
}

func (z *zset) clone() *zset {
	return &zset{scores: maps.Clone(z.scores), order: slices.Clone(z.order)}
}

// place returns where a member stands or would stand.
func (z *zset) place(m scored) int {
	i, _ := slices.BinarySearchFunc(z.order, m, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.name, b.name))
	})
	return i
}

func (z *zset) set(name string, score float64) {
	z.remove(name)
	z.scores[name] = score
	m := scored{score, name}
	z.order = slices.Insert(z.order, z.place(m), m)
}

// remove reports whether the member was there.
func (z *zset) remove(name string) bool {
	score, there := z.scores[name]
	if !there {
		return false
	}
	i := z.place(scored{score, name})
	z.order = slices.Delete(z.order, i, i+1)
	delete(z.scores, name)
	return true
}

func (z *zset) empty() bool { return len(z.order) == 0 }

func zadd(s *store, args []string) reply {
	var nx, xx, gt, lt, ch, increment bool
	flags := map[string]*bool{"NX": &nx, "XX": &xx, "GT": &gt, "LT": &lt, "CH": &ch, "INCR": &increment}
	pairs := args[1:]
	for len(pairs) > 0 && flags[strings.ToUpper(pairs[0])] != nil {
		*flags[strings.ToUpper(pairs[0])] = true
		pairs = pairs[1:]
	}
	switch {
	case len(pairs) == 0 || len(pairs)%2 != 0:
		return errSyntax
	case nx && xx:
		return failed("ERR XX and NX options at the same time are not compatible")
	case gt && nx || lt && nx || gt && lt:
		return failed("ERR GT, LT, and/or NX options at the same time are not compatible")
	case increment && len(pairs) > 2:
		return failed("ERR INCR option supports a single increment-element pair")
	}
	scores := make([]float64, len(pairs)/2)
	for i := range scores {
		score, err := strconv.ParseFloat(pairs[2*i], 64)
		if err != nil || math.IsNaN(score) {
			return errNoFloat
		}
		scores[i] = score
	}
	z, e, right := valueOf[*zset](s, args[0])
	switch {
	case !right:
		return errWrongType
	case e == nil && xx && increment:
		return reply{}
	case e == nil && xx:
		return number(0)
	case e == nil:
		z = &zset{scores: map[string]float64{}}
		s.put(args[0], z)
	}
	var added, changed int64
	done := false // what INCR asks for
	for i, score := range scores {
		name := pairs[2*i+1]
		was, there := z.scores[name]
		if increment && there {
			score += was
			if math.IsNaN(score) {
				return failed("ERR resulting score is not a number (NaN)")
			}
			scores[i] = score
		}
		if there && (nx || gt && score <= was || lt && score >= was) || !there && xx {
			continue
		}
		done = true
		if !there {
			added++
		} else if score != was {
			changed++
		}
		if !there || score != was {
			z.set(name, score)
		}
	}
	switch {
	case increment && !done:
		return reply{}
	case increment:
		return text(floatText(scores[0]))
	case ch:
		return number(added + changed)
	}
	return number(added)
}

func zcard(z *zset, _ []string) reply { return number(int64(len(z.order))) }

func zscore(z *zset, names []string) reply {
	score, there := z.scores[names[0]]
	if !there {
		return reply{}
	}
	return text(floatText(score))
}

// zrange goes by ranks only.
func zrange(s *store, args []string) reply {
	withScores := len(args) == 4 && strings.EqualFold(args[3], "WITHSCORES")
	if len(args) > 3 && !withScores {
		return errSyntax
	}
	first, last, is := span(args[1], args[2])
	if !is {
		return errNoInteger
	}
	z, e, right := valueOf[*zset](s, args[0])
	switch {
	case !right:
		return errWrongType
	case e == nil:
		return arrayOf()
	}
	from, to := bounds(first, last, len(z.order))
	var all []reply
	for _, m := range z.order[from:to] {
		all = append(all, text(m.name))
		if withScores {
			all = append(all, text(floatText(m.score)))
		}
	}
	return arrayOf(all...)
}

func zremrangebyscore(s *store, args []string) reply {
	from, afterFrom, isFrom := scoreBound(args[1])
	to, beforeTo, isTo := scoreBound(args[2])
	if !isFrom || !isTo {
		return failed("ERR min or max is not a float")
	}
	z, e, right := valueOf[*zset](s, args[0])
	switch {
	case !right:
		return errWrongType
	case e == nil:
		return number(0)
	}
	within := func(m scored) bool {
		return (m.score > from || m.score == from && !afterFrom) && (m.score < to || m.score == to && !beforeTo)
	}
	was := len(z.order)
	z.order = slices.DeleteFunc(z.order, func(m scored) bool {
		if within(m) {
			delete(z.scores, m.name)
		}
		return within(m)
	})
	if z.empty() {
		s.remove(args[0])
	}
	return number(int64(was - len(z.order)))
}

// scoreBound reads an end of a range of scores; excluded tells that the score itself is not in it.
func scoreBound(text string) (score float64, excluded, is bool) {
	text, excluded = strings.CutPrefix(text, "(")
	score, err := strconv.ParseFloat(text, 64)
	return score, excluded, err == nil && !math.IsNaN(score)
}

// span reads the two ends of a range.
func span(a, b string) (first, last int64, are bool) {
	first, isFirst := integerOf(a)
	last, isLast := integerOf(b)
	return first, last, isFirst && isLast
}

// bounds returns the bounds of a slice of n for a range in which -1 is the last.
func bounds(first, last int64, n int) (from, to int) {
	if first < 0 {
		first = max(0, first+int64(n))
	}
	if last < 0 {
		last += int64(n)
	}
	last = min(last, int64(n)-1)
	if first > last {
		return 0, 0
	}
	return int(first), int(last) + 1
}

package embedded

// list is there mostly to be of another type than what a command expects.
type list struct{ items []string }

func rpush(s *store, args []string) reply {
	l, e, right := valueOf[*list](s, args[0])
	switch {
	case !right:
		return errWrongType
	case e == nil:
		l = &list{}
		s.put(args[0], l)
	}
	l.items = append(l.items, args[1:]...)
	return number(int64(len(l.items)))
}

func lrange(s *store, args []string) reply {
	first, last, is := span(args[1], args[2])
	if !is {
		return errNoInteger
	}
	l, e, right := valueOf[*list](s, args[0])
	switch {
	case !right:
		return errWrongType
	case e == nil:
		return arrayOf()
	}
	from, to := bounds(first, last, len(l.items))
	return texts(l.items[from:to])
}

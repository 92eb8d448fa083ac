package report

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Sizes in pixels of SVG.
const (
	pixelsPerSecond = 200
	maxWidth        = 200_000 // of the picture of a long run, which is drawn smaller
	left            = 90      // the column with the names of lanes
	rowHeight       = 16
)

// picture is what the page draws.
type picture struct {
	Width, Height int
	Lanes         []*lane
	Phases        []*bar
	Violations    []int // x of each
	scale         float64
}

// lane is what happened to one master or client. What lasts at the same time is in several rows.
type lane struct {
	Name  string
	Y     int
	Bars  []*bar
	Marks []mark
	rows  []time.Duration // when the last bar of each ends
}

// bar is a thing that lasted. Its kind is its class in the style of the page.
type bar struct {
	Kind, Label, Title string
	Hue                uint32 // of a hold, by its name
	X, Y, Width        int
	from, to           time.Duration
	row                int
}

// mark is a thing at a moment.
type mark struct {
	Kind, Title string
	X, Y        int
	at          time.Duration
	row         int
}

const never = time.Duration(1<<63 - 1)

// painter follows the events. It keeps open bars by the lane and the call that ends them.
type painter struct {
	lanes  map[string]*lane
	open   map[string]*bar
	until  map[string]time.Duration // by call: the end of its lease
	newest map[string]uint64        // by name: the newest token in the unguarded store
	phases []*bar
}

func draw(r Run) *picture {
	if len(r.Events) == 0 {
		return nil
	}
	p := &painter{lanes: map[string]*lane{}, open: map[string]*bar{}, until: map[string]time.Duration{}, newest: map[string]uint64{}}
	for _, e := range r.Events {
		p.take(e)
	}
	end := max(r.Events[len(r.Events)-1].At, time.Millisecond)
	for key := range p.open {
		p.ends(key, end)
	}
	pic := &picture{Phases: p.phases, scale: min(pixelsPerSecond, maxWidth/end.Seconds())}
	pic.Width = pic.x(end) + left
	y := 2 * rowHeight
	for _, name := range slices.SortedFunc(maps.Keys(p.lanes), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // c2 before c10
	}) {
		l := p.lanes[name]
		l.Y = y
		for _, b := range l.Bars {
			pic.place(b, y)
		}
		for i := range l.Marks {
			l.Marks[i].X, l.Marks[i].Y = pic.x(l.Marks[i].at), y+l.Marks[i].row*rowHeight+rowHeight/2
		}
		y += max(1, len(l.rows))*rowHeight + rowHeight/2
		pic.Lanes = append(pic.Lanes, l)
	}
	pic.Height = y
	for _, b := range p.phases {
		pic.place(b, 0)
	}
	for _, at := range r.Moments {
		pic.Violations = append(pic.Violations, pic.x(at))
	}
	return pic
}

func (pic *picture) x(at time.Duration) int { return left + int(at.Seconds()*pic.scale) }

func (pic *picture) place(b *bar, y int) {
	b.X, b.Y = pic.x(b.from), y+b.row*rowHeight
	b.Width = max(1, pic.x(b.to)-b.X)
}

func (p *painter) lane(name string) *lane {
	if p.lanes[name] == nil {
		p.lanes[name] = &lane{Name: name}
	}
	return p.lanes[name]
}

// begins opens a bar in the first row of the lane that is free, from the given one on.
func (p *painter) begins(key string, e history.Event, row int, kind, label, title string) *bar {
	name, _, _ := strings.Cut(key, "|")
	l := p.lane(name)
	for row < len(l.rows) && l.rows[row] > e.At {
		row++
	}
	for len(l.rows) <= row {
		l.rows = append(l.rows, 0)
	}
	l.rows[row] = never
	b := &bar{Kind: kind, Label: label, Title: fmt.Sprintf("%s, from %s", title, seconds(e.At)), from: e.At, row: row}
	l.Bars = append(l.Bars, b)
	p.open[key] = b
	return b
}

// ends closes the bar, if it is open, and returns it.
func (p *painter) ends(key string, at time.Duration) *bar {
	b := p.open[key]
	if b == nil {
		return nil
	}
	delete(p.open, key)
	b.to = at
	b.Title += " to " + seconds(at)
	name, _, _ := strings.Cut(key, "|")
	if l := p.lanes[name]; l != nil { // else it is a phase
		l.rows[b.row] = at
	}
	return b
}

func (p *painter) take(e history.Event) {
	call := fmt.Sprint(e.Client, "|", e.Call)
	switch e.Kind {
	case history.PhaseBegins:
		p.ends("phase", e.At)
		b := &bar{Kind: "phase", Label: e.Phase, from: e.At}
		p.phases, p.open["phase"] = append(p.phases, b), b
	case history.FaultBegins:
		p.begins("faults|"+e.Fault, e, 0, "fault", e.Fault, e.Fault)
	case history.FaultEnds:
		if b := p.ends("faults|"+e.Fault, e.At); b != nil && e.Err != "" {
			b.Title += ", not applied: " + e.Err
		}
	case history.MasterUp, history.MasterThawed:
		p.lane(e.Master)
		p.ends(e.Master+"|state", e.At)
	case history.MasterDown, history.MasterFrozen:
		p.ends(e.Master+"|state", e.At)
		label := string(e.Kind)
		if e.Lost {
			label += ", data lost"
		}
		p.begins(e.Master+"|state", e, 0, label[:4], label, label)
	case history.ClientStopped:
		p.begins(e.Client+"|process", e, 0, "stopped", "stopped", "stopped")
	case history.ClientStarts, history.ClientGoesOn:
		p.lane(e.Client)
		p.ends(e.Client+"|process", e.At)
	case history.ClientKilled:
		p.ends(e.Client+"|process", e.At)
		for key := range p.open {
			if strings.HasPrefix(key, e.Client+"|") {
				p.over(key, e.At)
			}
		}
		p.begins(e.Client+"|process", e, 0, "dead", "killed", "killed")
	case history.LockBegins:
		p.begins(call, e, 1, "waiting", "", "asks for "+e.Name)
	default:
		p.use(e, call)
	}
}

// use draws what became of a call for a lock, and of an access to a store.
func (p *painter) use(e history.Event, call string) {
	b := p.open[call]
	switch {
	case b != nil && e.Kind == history.LockFailed:
		p.ends(call, e.At).Title += ": " + e.Err
	case b != nil && e.Kind == history.LockHeld:
		row := p.ends(call, e.At).row
		label := fmt.Sprint(e.Name, " ", e.Token) // 0: it reads
		p.begins(call, e, row, "hold", label, fmt.Sprintf("holds %s, depth %d", label, e.Depth)).Hue = crc32.ChecksumIEEE([]byte(e.Name)) % 360
		p.until[call] = e.Until
	case b != nil && e.Kind == history.Renewed:
		p.until[call] = max(p.until[call], e.Until)
	case b != nil && e.Kind == history.Told:
		p.until[call] = max(p.until[call], e.Until)
		p.marks(e.Client, b.row, e, "told", "is told: "+e.Err)
	case b != nil && e.Kind == history.UnlockEnds:
		p.until[call] = max(p.until[call], e.Until)
		p.over(call, e.At)
	case e.Kind == history.WriteEnds && e.Err == history.ErrRefused:
		p.marks(e.Client, 0, e, "refused", fmt.Sprintf("write of %s with token %d refused (%s)", e.Name, e.Token, e.Store))
	case e.Kind == history.WriteEnds && e.Store == history.Unguarded:
		if e.Token < p.newest[e.Name] {
			p.marks(e.Client, 0, e, "stale", fmt.Sprintf("stale write of %s with token %d taken (%s)", e.Name, e.Token, e.Store))
		}
		p.newest[e.Name] = max(p.newest[e.Name], e.Token)
	}
}

// over ends a hold. The time after the end of its lease gets a bar of its own.
func (p *painter) over(call string, at time.Duration) {
	until := p.until[call]
	b := p.ends(call, at)
	if b.Kind != "hold" || until <= b.from || until >= at {
		return
	}
	b.to = until
	name, _, _ := strings.Cut(call, "|")
	l := p.lane(name)
	l.Bars = append(l.Bars, &bar{Kind: "late", Title: b.Title + ", after its lease", from: until, to: at, row: b.row})
}

func (p *painter) marks(name string, row int, e history.Event, kind, title string) {
	l := p.lane(name)
	l.Marks = append(l.Marks, mark{Kind: kind, Title: title + " at " + seconds(e.At), at: e.At, row: row})
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

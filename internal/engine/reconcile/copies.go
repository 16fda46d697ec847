package reconcile

import (
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
)

// goingTime is how long a loss counts that is on its way to a daemon. By then the mirror has read the configuration
// without that copy.
const goingTime = time.Minute

// shortPause is the shortest time between two plans of the devices whose changes wait because of copies.
const shortPause = time.Second

// goingLosses are the losses of copies that are on their way to daemons. Two devices that give up copies of one folder
// at the same time would otherwise each count the copy of the other.
type goingLosses struct {
	mu       sync.Mutex // guards the rest
	reserved int64      // how many reservations there were
	losses   map[fleet.DeviceID]reservation
}

// reservation has the losses that one device makes now.
type reservation struct {
	number int64 // greater than those of all earlier reservations
	until  time.Time
	losses []fleet.CopyLoss
}

// count returns how many reservations there were.
func (g *goingLosses) count() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reserved
}

// of returns the losses of a folder that are on their way to devices other than this one.
func (g *goingLosses) of(folder string, but fleet.DeviceID, now time.Time) (losses []fleet.CopyLoss) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(g.losses)) {
		for _, loss := range g.losses[id].losses {
			if id != but && loss.Folder == folder && now.Before(g.losses[id].until) {
				losses = append(losses, loss)
			}
		}
	}
	return losses
}

// reserve notes the losses of a plan that is about to be sent. It returns false, and notes nothing, if another device
// reserved losses of one of the folders after the plan was made: the plan is made again then. seen is what count
// returned before the plan was made. Where the device reserves the same losses again, the others have counted them.
func (g *goingLosses) reserve(id fleet.DeviceID, losses []fleet.CopyLoss, seen int64, now time.Time) bool {
	if len(losses) == 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for other, r := range g.losses {
		isSame := func(l fleet.CopyLoss) bool {
			return slices.ContainsFunc(losses, func(own fleet.CopyLoss) bool { return own.Folder == l.Folder })
		}
		switch {
		case !now.Before(r.until):
			delete(g.losses, other)
		case other != id && r.number > seen && slices.ContainsFunc(r.losses, isSame):
			return false
		}
	}
	own, isReserved := g.losses[id]
	if !isReserved || !slices.EqualFunc(own.losses, losses, isSameLoss) {
		g.reserved++
		own.number = g.reserved
	}
	g.losses[id] = reservation{own.number, now.Add(goingTime), losses}
	return true
}

func isSameLoss(a, b fleet.CopyLoss) bool {
	return a.Folder == b.Folder && a.Device == b.Device && (a.Peers == nil) == (b.Peers == nil) &&
		slices.Equal(a.Peers, b.Peers)
}

// copiesFor returns the function that gives what is known of the copies of a folder when a device is planned. It
// returns nil if copies are not known.
func (e *Engine) copiesFor(id fleet.DeviceID) func(folder string) fleet.FolderCopies {
	if e.o.Copies == nil {
		return nil
	}
	return func(folder string) fleet.FolderCopies {
		copies := e.o.Copies(folder)
		copies.Going = e.going.of(folder, id, time.Now())
		return copies
	}
}

// reserveCopies notes the losses of copies that the plan is about to make. It returns false if the plan has to be made
// again first. Where no policy asks for copies, no change waits for those of other devices.
func (e *Engine) reserveCopies(now planned) bool {
	if e.o.Copies == nil {
		return true
	}
	losses := slices.DeleteFunc(now.plan.CopyLosses(now.observed()), func(l fleet.CopyLoss) bool {
		copies := e.o.Copies(l.Folder)
		return len(copies.Policies) == 0 && copies.Unknown == ""
	})
	return e.going.reserve(now.id, losses, now.reserved, time.Now())
}

// rememberShort notes whether changes of the device's plan wait because of copies.
func (e *Engine) rememberShort(now planned) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.plan.WaitsForCopies() {
		e.short[now.id] = true
	} else {
		delete(e.short, now.id)
	}
}

// CopiesChanged plans anew the devices whose changes wait because of copies. It is called when more or less may be
// known of the copies of a folder, or when another number of them is asked for.
func (e *Engine) CopiesChanged() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.running || len(e.short) == 0 || e.shortDue != nil {
		return
	}
	e.shortDue = time.AfterFunc(shortPause, func() {
		e.mu.Lock()
		e.shortDue = nil
		waiting := slices.Sorted(maps.Keys(e.short))
		e.mu.Unlock()
		e.Wake(waiting)
	})
}

// forgetShort forgets a device that is not registered any more.
func (e *Engine) forgetShort(id fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.short, id)
}

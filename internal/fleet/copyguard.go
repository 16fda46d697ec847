package fleet

import (
	"fmt"
	"slices"
	"time"
)

// CopyLoss is what a change takes from the copies of a folder.
type CopyLoss struct {
	Folder string
	Device DeviceID   // the device that changes
	Peers  []DeviceID // devices with which it no longer shares the folder; nil: what it has is no copy any more
}

// isWhole reports whether the device's own copy is lost.
func (l CopyLoss) isWhole() bool { return l.Peers == nil }

// CopiesOf are the devices that have the data of one device in a folder.
type CopiesOf struct {
	Owner  DeviceID
	On     []DeviceID // devices of which it is proven that they have all that the owner has now, the owner included
	ReadAt time.Time  // ReadAt is zero if the owner was not read since the start of the server.
}

// FolderCopies is what is known of the copies of a folder.
type FolderCopies struct {
	Policies []CopyPolicy // They all ask for copies of the folder.
	// Unknown is why it cannot be known how many copies there are, or how many there have to be; "": it is known.
	Unknown string
	Data    []CopiesOf
	Plain   []DeviceID // managed devices that have the folder, and not encrypted
	Tags    map[DeviceID][]Tag
	// Shares are the devices with which each managed device shares the folder, as far as its configuration was read.
	Shares map[DeviceID][]DeviceID
	// Going are the losses that are on their way to other devices.
	Going []CopyLoss
}

// CopyDecline is what a loss leaves of the copies of one device's data.
type CopyDecline struct {
	Folder        string
	Owner         DeviceID
	Policy        CopyPolicy // AtLeast is 0 where no policy asks for copies.
	Before, After int        // They are what the devices count that are proven to have the data.
	ReadAt        time.Time  // ReadAt is as in CopiesOf.
	Unknown       string     // Unknown is as in FolderCopies. If it is not "", all others but Folder are empty.
}

// Decline returns what losses of one folder leave of the data that is worst off. isBad is false if the losses take no
// copy, or if what is left is proven to be enough. Where a policy asks for copies, what is not known counts as not
// proven. Without one, isBad is true only where the last copy of a device's own data would go.
func (f FolderCopies) Decline(losses ...CopyLoss) (worst CopyDecline, isBad bool) {
	if len(losses) == 0 {
		return worst, false
	}
	folder := losses[0].Folder
	if f.Unknown != "" {
		return CopyDecline{Folder: folder, Unknown: f.Unknown}, slices.ContainsFunc(losses, f.takesCopy)
	}
	if len(f.Policies) == 0 && !slices.ContainsFunc(losses, CopyLoss.isWhole) {
		return worst, false // isBad would need the loss of a device's own copy.
	}
	before, after := f.reach(f.Going), f.reach(slices.Concat(f.Going, losses))
	policies := f.Policies
	if len(policies) == 0 {
		policies = []CopyPolicy{{}}
	}
	for _, data := range f.Data {
		is, then := before(data.Owner, data.passesOn), after(data.Owner, data.passesOn)
		if !f.isTouched(is, then) && !f.isTouched(before(data.Owner, anybody), after(data.Owner, anybody)) {
			continue
		}
		for _, policy := range policies {
			d := CopyDecline{Folder: folder, Owner: data.Owner, Policy: policy, ReadAt: data.ReadAt,
				Before: f.count(policy, data, is), After: f.count(policy, data, then)}
			if d.isBad(f, losses) && (!isBad || d.missing() > worst.missing()) {
				worst, isBad = d, true
			}
		}
	}
	return worst, isBad
}

// passesOn reports whether a device is proven to have the data, so that others can get it from there.
func (c CopiesOf) passesOn(id DeviceID) bool { return slices.Contains(c.On, id) }

// anybody passes changes on as far as nothing speaks against it.
func anybody(DeviceID) bool { return true }

// takesCopy reports whether a loss is of a managed device's copy that is not encrypted, or of the way from one to
// another.
func (f FolderCopies) takesCopy(l CopyLoss) bool {
	isPlain := func(id DeviceID) bool { return slices.Contains(f.Plain, id) }
	return isPlain(l.Device) && (l.isWhole() || slices.ContainsFunc(l.Peers, isPlain))
}

// isBad reports whether too few copies are left.
func (d CopyDecline) isBad(f FolderCopies, losses []CopyLoss) bool {
	if d.Policy.AtLeast > 0 {
		return d.After < d.Policy.AtLeast
	}
	isOwn := slices.ContainsFunc(losses, func(l CopyLoss) bool { return l.isWhole() && l.Device == d.Owner })
	isKnown := !d.ReadAt.IsZero() || len(f.Plain) == 1
	return isOwn && isKnown && d.After == 0
}

func (d CopyDecline) missing() int { return max(d.Policy.AtLeast, 1) - d.After }

// isTouched reports whether a device that may have a copy has none any more, or gets no changes any more.
func (f FolderCopies) isTouched(before, after map[DeviceID]bool) bool {
	return slices.ContainsFunc(f.Plain, func(id DeviceID) bool { return before[id] && !after[id] })
}

// count returns what those devices count that have the data and keep it.
func (f FolderCopies) count(policy CopyPolicy, data CopiesOf, kept map[DeviceID]bool) int {
	var on []DeviceID
	for _, id := range data.On {
		if kept[id] {
			on = append(on, id)
		}
	}
	return policy.Counts(on, func(id DeviceID) []Tag { return f.Tags[id] })
}

// reach returns the function that gives the devices which have a copy after these losses, and get the changes of a
// device: those to which shares lead from it, by way of devices that pass them on. Of a device whose own copy is lost
// it gives all others, because nothing changes its data any more.
func (f FolderCopies) reach(losses []CopyLoss) func(from DeviceID, passesOn func(DeviceID) bool) map[DeviceID]bool {
	isLost := map[DeviceID]bool{}
	cut := map[[2]DeviceID]bool{}
	for _, loss := range losses {
		isLost[loss.Device] = isLost[loss.Device] || loss.isWhole()
		for _, peer := range loss.Peers {
			cut[[2]DeviceID{loss.Device, peer}], cut[[2]DeviceID{peer, loss.Device}] = true, true
		}
	}
	links := map[DeviceID][]DeviceID{}
	for id, peers := range f.Shares {
		for _, peer := range peers {
			back, isKnown := f.Shares[peer]
			if cut[[2]DeviceID{id, peer}] || isLost[id] || isLost[peer] || isKnown && !slices.Contains(back, id) {
				continue
			}
			links[id] = append(links[id], peer)
			if !isKnown {
				links[peer] = append(links[peer], id)
			}
		}
	}
	return func(from DeviceID, passesOn func(DeviceID) bool) map[DeviceID]bool {
		reached := map[DeviceID]bool{}
		if isLost[from] {
			for _, id := range f.Plain {
				reached[id] = !isLost[id]
			}
			return reached
		}
		reached[from] = true
		for open := []DeviceID{from}; len(open) > 0; {
			next := open[0]
			open = open[1:]
			if next != from && !passesOn(next) {
				continue
			}
			for _, peer := range links[next] {
				if !reached[peer] {
					reached[peer] = true
					open = append(open, peer)
				}
			}
		}
		return reached
	}
}

// Reason says for people what would be left. It does not say when that was read; see When.
func (d CopyDecline) Reason() string {
	switch {
	case d.Unknown != "":
		return fmt.Sprintf("it takes a copy of the folder %q, and %s", d.Folder, d.Unknown)
	case d.Policy.AtLeast == 0 && d.ReadAt.IsZero():
		return fmt.Sprintf("no other device that Muster manages has the folder %q unencrypted", d.Folder)
	case d.Policy.AtLeast == 0:
		return fmt.Sprintf("what %s has of the folder %q is not proven to be on any other device", d.Owner, d.Folder)
	}
	of := "devices"
	if d.Policy.Across != "" {
		of = "of the tags " + d.Policy.Across
	}
	return fmt.Sprintf("what %s has of the folder %q is proven to be on %s %s, would be on %s, and the policy %q asks "+
		"for %s", d.Owner, d.Folder, NumberText(d.Before), of, NumberText(d.After), d.Policy, NumberText(d.Policy.AtLeast))
}

// Question identifies what a person answers: the folder, the policy, and how many copies would be left. The rest of the
// reason may change without another question.
func (d CopyDecline) Question() string {
	if d.Unknown != "" {
		return fmt.Sprintf("%q unknown %s", d.Folder, d.Unknown)
	}
	return fmt.Sprintf("%q %q %d", d.Folder, d.Policy, d.After)
}

// When says for people when the copies were read last; "" where that says nothing.
func (d CopyDecline) When() string {
	switch {
	case d.Unknown != "" || d.Policy.AtLeast == 0 && d.ReadAt.IsZero():
		return ""
	case d.ReadAt.IsZero():
		return " (not read since the start of the server)"
	}
	return " (read " + d.ReadAt.UTC().Format("2006-01-02 15:04:05 UTC") + ")"
}

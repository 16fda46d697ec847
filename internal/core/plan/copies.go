package plan

import (
	"maps"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// guardCopies holds the changes that take copies of folders, where too few copies that are proven would be left. All
// changes of one folder count together, as if all of them were sent. before is the document without revoked devices,
// and after the document with the whole plan applied.
func (in Input) guardCopies(changes []Change, before, after stconfig.Value) {
	if in.Facts.Copies == nil {
		return
	}
	losses, takers := map[string]fleet.CopyLoss{}, map[string][]int{}
	for i, c := range changes {
		for _, loss := range c.copyLosses(in.Device, before, after) {
			losses[loss.Folder] = merged(losses[loss.Folder], loss)
			takers[loss.Folder] = append(takers[loss.Folder], i)
			for cause := range changes { // A person consents to the cause only, see freeConsequences.
				if c.with != "" && changes[cause].Key.String() == c.with {
					takers[loss.Folder] = append(takers[loss.Folder], cause)
				}
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(losses)) {
		decline, isBad := in.Facts.Copies(folder).Decline(losses[folder])
		if !isBad {
			continue
		}
		slices.Sort(takers[folder])
		for _, i := range slices.Compact(takers[folder]) {
			changes[i].holdForCopies(decline)
		}
	}
}

// merged returns what two changes take together from the copies of a folder.
func merged(a, b fleet.CopyLoss) fleet.CopyLoss {
	switch {
	case a.Folder == "":
		return b
	case a.Peers == nil || b.Peers == nil:
		b.Peers = nil
	default:
		b.Peers = slices.Concat(a.Peers, b.Peers)
	}
	return b
}

// CopyLosses returns what the changes that this plan sends take from the copies of folders, one loss for each folder.
// before is the document before the plan.
func (p Plan) CopyLosses(before stconfig.Value) []fleet.CopyLoss {
	losses, after := map[string]fleet.CopyLoss{}, stconfig.Patch(before, p.sending())
	for _, c := range p.Sendable() {
		for _, loss := range c.copyLosses(p.Device, before, after) {
			losses[loss.Folder] = merged(losses[loss.Folder], loss)
		}
	}
	return slices.SortedFunc(maps.Values(losses), func(a, b fleet.CopyLoss) int {
		return strings.Compare(a.Folder, b.Folder)
	})
}

// copyLosses returns what a change takes from the copies of folders. A device that is revoked, or that templates remove
// with a person's consent, is no copy any more, so its removal takes none.
func (c Change) copyLosses(own fleet.DeviceID, before, after stconfig.Value) (losses []fleet.CopyLoss) {
	isRevoked := c.away != "" || c.revoked || c.introducer != "" && !c.To.Exists()
	if isRevoked || c.Class == Refused || c.Key.IsRoot() {
		return nil
	}
	in := section(c.Key)
	isRemoval := in == "devices" && c.Key.Len() == 2 && !c.To.Exists()
	if in != "folders" && !isRemoval {
		return nil
	}
	for folder := range before.Get("folders").Values() {
		id := folder.Get("id").Str()
		then := memberOf(after.Get("folders"), "id", id)
		loss := fleet.CopyLoss{Folder: id, Device: own}
		switch {
		case isRemoval && then.Exists():
			loss.Peers = lostPeers(folder, then, c.Key.At(1).Name, own)
		case isRemoval || c.Key.Len() > 1 && c.Key.At(1).Name != id:
			continue
		case !c.endsCopy(folder, then):
			loss.Peers = c.lostPeers(folder, then, own)
		}
		if loss.Peers == nil || len(loss.Peers) > 0 {
			losses = append(losses, loss)
		}
	}
	return losses
}

// endsCopy reports whether what the device has of a folder is no copy any more after the change: the folder goes, moves
// to another path, or becomes encrypted.
func (c Change) endsCopy(folder, then stconfig.Value) bool {
	isEncrypted := func(f stconfig.Value) bool { return f.Get("type").Str() == fleet.ReceiveEncrypted.String() }
	switch {
	case isEncrypted(folder):
		return false
	case !then.Exists():
		return true
	}
	return c.isAbout("path") && folder.Get("path").Str() != then.Get("path").Str() ||
		c.isAbout("type") && isEncrypted(then)
}

// isAbout reports whether a change of a folder covers this field.
func (c Change) isAbout(field string) bool {
	return c.Key.Len() <= 2 || strings.EqualFold(c.Key.At(2).Name, field)
}

// lostPeers returns the devices with which the change ends that the folder is shared. The result is not nil.
func (c Change) lostPeers(folder, then stconfig.Value, own fleet.DeviceID) []fleet.DeviceID {
	peer := ""
	if c.Key.Len() > 3 {
		peer = c.Key.At(3).Name
	}
	if !c.isAbout("devices") {
		return []fleet.DeviceID{}
	}
	return lostPeers(folder, then, peer, own)
}

// lostPeers returns the devices with which the folder is shared, and then not any more, or only encrypted. With a peer
// it looks at that one only. The result is not nil.
func lostPeers(folder, then stconfig.Value, peer string, own fleet.DeviceID) []fleet.DeviceID {
	lost := []fleet.DeviceID{}
	for share := range folder.Get("devices").Values() {
		id := share.Get("deviceID").Str()
		if id == string(own) || peer != "" && !strings.EqualFold(id, peer) || isEncryptedShare(share) {
			continue
		}
		if is := memberOf(then.Get("devices"), "deviceID", id); !is.Exists() || isEncryptedShare(is) {
			lost = append(lost, fleet.DeviceID(id))
		}
	}
	return lost
}

func isEncryptedShare(share stconfig.Value) bool { return share.Get("encryptionPassword").Str() != "" }

// holdForCopies holds the change because of what it leaves of a folder's copies. Without a policy it only adds to the
// reason of a change that is held anyway: nobody asked for copies, and an answer does not depend on what is proven.
func (c *Change) holdForCopies(d fleet.CopyDecline) {
	isAsked := d.Policy.AtLeast > 0 || d.Unknown != ""
	if c.Class == Refused || !isAsked && c.Class != Held {
		return
	}
	if !isAsked {
		c.note += "; " + d.Reason() + d.When()
		return
	}
	if c.Class != Held {
		c.Class, c.Reason = Held, ""
	}
	if c.Reason != "" {
		c.Reason += "; "
	}
	c.Reason += d.Reason()
	c.copies += d.Question() + "; "
	if c.note == "" {
		c.note = d.When()
	}
}

// WaitsForCopies reports whether changes wait because too few copies of folders would be left.
func (p Plan) WaitsForCopies() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.copies != "" && c.Class == Held && !c.Consented })
}

// grounds returns the reason without what changes as time goes by. Digests cover the grounds.
func (c Change) grounds() string { return strings.TrimSuffix(c.Reason, c.note) }

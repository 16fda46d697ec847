package desired

import (
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// The word away means revoked in the whole fleet. No daemon may have such a device or share a folder with it, whatever
// templates, people and introducers say. The fold takes the device out of the base, so nothing brings it back when the
// revocation ends. It also takes the device out of what each template makes, so later templates do not see it in
// `config`.

// FoldAway computes the desired configuration of a device whose templates fail: the observed document without the
// revoked devices. A failing template must not keep a revoked device on the daemon. Ownership records stay, except for
// what the document shows about them, because nobody knows what the templates would ask for.
func FoldAway(in Input) (Result, error) {
	records, err := in.records()
	if err != nil {
		return Result{}, err
	}
	f := newFold(in, records)
	cleared, _ := WithoutAway(in.Observed, in.Away)
	r := Result{Desired: cleared, Base: f.base, device: in.Device, away: in.Away, observed: in.Observed}
	r.keep(records, f.ignores)
	return r, nil
}

// forgetAway changes the records that would bring a revoked device back. The record of a device or share that Muster
// removed loses its base value. The record of a folder that Muster made loses the shares with a revoked device that
// others added, if the document doc no longer has them.
func forgetAway(records []record, doc stconfig.Value, away map[fleet.DeviceID]string) []record {
	if len(away) == 0 {
		return records
	}
	for i := range records {
		r := &records[i]
		if r.Kind == fleet.BaseRemoved && away[deviceOf(r.key)] != "" {
			r.base = stconfig.Value{}
		}
		r.inner = slices.DeleteFunc(slices.Clone(r.inner), func(e entry) bool {
			return away[deviceOf(e.key)] != "" && !stconfig.Lookup(doc, e.key).Exists()
		})
	}
	return records
}

// takeAway takes the revoked devices, and the shares with them, out of the document. If the template folded last names
// one of them, takeAway reports that one as skipped.
func (f *fold) takeAway() {
	left, taken := WithoutAway(f.doc, f.Away)
	f.doc = left
	if len(f.applied) == 0 {
		return
	}
	last := f.applied[len(f.applied)-1]
	for _, key := range taken {
		if last.names(key) {
			id := deviceOf(key)
			f.skipped = append(f.skipped, Skipped{Template: last.template.ID, Key: key,
				Reason: string(id) + " is " + f.Away[id] + ": take it out of the template"})
		}
	}
}

// Cleared returns the daemon's document without the revoked devices and the shares with them. It returns Absent if the
// document has no such device or share.
func (r Result) Cleared() stconfig.Value {
	cleared, taken := WithoutAway(r.observed, r.away)
	if len(taken) == 0 {
		return stconfig.Value{}
	}
	return cleared
}

// IsAway reports whether a key is that of a revoked device, or of a share with one.
func IsAway(key stconfig.Key, away map[fleet.DeviceID]string) bool { return away[deviceOf(key)] != "" }

// WithoutAway returns a document without the revoked devices (the keys of away) and the shares with them. It also
// returns the keys that it took out.
func WithoutAway(doc stconfig.Value, away map[fleet.DeviceID]string) (left stconfig.Value, taken []stconfig.Key) {
	if len(away) == 0 {
		return doc, nil
	}
	for folder := range doc.Get("folders").Values() {
		shares := folders.Child(folder.Get("id").Str()).Child("devices")
		taken = append(taken, membersAway(shares, folder.Get("devices"), away)...)
	}
	taken = append(taken, membersAway(devices, doc.Get("devices"), away)...)
	changes := make([]stconfig.Change, len(taken))
	for i, key := range taken {
		changes[i] = stconfig.Change{Key: key}
	}
	return stconfig.Patch(doc, changes), taken
}

func membersAway(at stconfig.Key, list stconfig.Value, away map[fleet.DeviceID]string) (keys []stconfig.Key) {
	for member := range list.Values() {
		id := member.Get("deviceID").Str()
		if _, is := away[fleet.DeviceID(id)]; is {
			keys = append(keys, at.Child(id))
		}
	}
	return keys
}

// deviceOf returns the device that the key of a device, or of a share, names; "" for another key.
func deviceOf(key stconfig.Key) fleet.DeviceID {
	switch {
	case isDevice(key):
		return fleet.DeviceID(key.At(1).Name)
	case isShare(key):
		return fleet.DeviceID(key.At(3).Name)
	}
	return ""
}

// whyAway returns the text that says since when the device at this key, or the device of the share at this key, is
// revoked. It returns "" if no revocation concerns the key.
func (r Result) whyAway(key stconfig.Key) string { return r.away[deviceOf(key)] }

// explainAway returns the Why of a change that removes a revoked device, or a share with one.
func (r Result) explainAway(key stconfig.Key) Why {
	why := Why{Away: r.whyAway(key), Revoked: r.broughtBack(key)}
	why.Drift = why.Revoked
	if by := stconfig.Lookup(r.observed, key).Get("introducedBy").Str(); by != "" && why.Revoked {
		why.Introducer = by
	}
	return why
}

// RevokedByTemplates returns the devices that templates removed with a person's consent and still remove, each with
// the IDs of these templates.
func (r Result) RevokedByTemplates() map[fleet.DeviceID][]int64 {
	var revoked map[fleet.DeviceID][]int64
	for _, rec := range r.records {
		if rec.Revoked && isDevice(rec.key) {
			if revoked == nil {
				revoked = map[fleet.DeviceID][]int64{}
			}
			revoked[deviceOf(rec.key)] = rec.BaseEntry.Templates
		}
	}
	return revoked
}

// takingAway records that the change s, which is about to be sent, removes a revoked device or a share with one. The
// device gets a record, by which Muster recognises later that somebody brought the device back. A share without a
// record gets none, because nothing would put the share back.
func (b *intentRecorder) takingAway(s Sent) {
	if r := b.recordAround(s.Key); r != nil {
		r.sending(s, b)
		r.Away = isDevice(r.key)
		return
	}
	at := slices.IndexFunc(b.records, func(r record) bool { return r.key.Equal(s.Key) })
	switch {
	case at < 0 && !isDevice(s.Key):
		return
	case at < 0:
		at = len(b.records)
		b.records = append(b.records, record{entry: entry{key: s.Key, BaseEntry: fleet.BaseEntry{Kind: fleet.BaseRemoved,
			Version: versionOf(b.observed)}}})
	}
	r := &b.records[at]
	r.base, r.intended = stconfig.Value{}, stconfig.Value{}
	r.State, r.Run, r.Away = fleet.BaseSending, "", isDevice(s.Key)
}

// recordAround returns the record of a member that Muster made, if the member is at this key or contains it; otherwise
// nil.
func (b *intentRecorder) recordAround(key stconfig.Key) *record {
	for i := range b.records {
		if r := &b.records[i]; r.Kind == fleet.BaseMade && key.HasPrefix(r.key) {
			return r
		}
	}
	return nil
}

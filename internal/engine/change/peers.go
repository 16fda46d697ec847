package change

import "muster/internal/fleet"

// readsPeersAnew reports whether the edit brings a program that reads the vars and addresses of all devices to the
// caller's part, where it was not before. What such a program gives shows what devices outside of the part have, so
// somebody with the whole fleet decides it.
func (j *judgement) readsPeersAnew(then *fleet.Registry) bool {
	before := map[int64]string{} // texts by template
	for id := range j.now.Devices {
		if j.isOutside(id) {
			continue
		}
		for t := range j.now.Applying(id) {
			before[t.ID] = t.Text
		}
	}
	for _, t := range then.Templates {
		if !t.Reads.Peers || before[t.ID] == t.Text {
			continue
		}
		if old := j.now.Template(t.ID); old == nil || old.Text != t.Text || j.appliesInside(then, t) {
			return true
		}
	}
	return false
}

func (j *judgement) appliesInside(then *fleet.Registry, t fleet.TaggedTemplate) bool {
	for id, d := range then.Devices {
		if (j.isNew(id) || !j.isOutside(id)) && t.AppliesTo(d) {
			return true
		}
	}
	return false
}

var errReadsPeers = fleet.OutOfScope(
	"the template reads the vars or addresses of all devices, also of those outside of " +
		"the part: somebody with the whole fleet saves and tags it",
)

package health

import "muster/internal/fleet"

// Standing is how a device stands for a rollout. Nothing is written to a device of which the mode is not known.
func (h *Health) Standing(id fleet.DeviceID, f Facts, last fleet.Pass) fleet.Standing {
	s := fleet.Standing{Mode: fleet.ModeObserve}
	if f.Registry != nil && f.Registry.Devices[id] != nil {
		s.Mode = f.Registry.ModeOf(id)
	}
	if f.Snapshot == nil {
		s.Gone, s.Tried, s.Reason = true, true, "it is not registered any more"
		return s
	}
	s.Online = f.Snapshot.Answers()
	s.Tried = s.Online || !f.Snapshot.NextTry.IsZero()
	s.Digest, s.Reason, s.TooOld = f.Snapshot.Digest, f.Snapshot.Reason, f.Snapshot.TooOld
	if s.Online {
		condition := h.Condition(id)
		s.Configuration, s.Reason = condition.Configuration, condition.Reason
	}
	s.Errors, s.Summarised = f.Snapshot.FolderErrors()
	s.Pass = last
	return s
}

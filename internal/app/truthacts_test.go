package app

import (
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// running is the folder that an act is about, of a daemon that runs; nil where it does not.
func (s *story) running(a act) *folderTruth {
	if s.daemons[a.Daemon].stopped {
		return nil
	}
	return &s.daemons[a.Daemon].folders[a.Folder]
}

func (s *story) stopFolder(a act) error {
	f := s.running(a)
	if f == nil {
		return nil
	}
	f.problem, f.moving = a.Why, false
	return s.farm.Daemon(a.Daemon).StopFolder(s.folders[a.Folder], a.Why)
}

func (s *story) failItems(a act) error {
	f := s.running(a)
	if f == nil {
		return nil
	}
	f.failed, f.lacks = 3, true
	return s.farm.Daemon(a.Daemon).FailItems(s.folders[a.Folder], 3, a.Why)
}

func (s *story) healFolder(a act) error {
	f := s.running(a)
	if f == nil {
		return nil
	}
	*f = folderTruth{paused: f.paused, unshared: f.unshared, conflicts: f.conflicts, disk: f.disk}
	if err := s.editFolder(a, "type", stconfig.Text("sendreceive")); err != nil {
		return err
	}
	return s.farm.Daemon(a.Daemon).HealFolder(s.folders[a.Folder])
}

func (s *story) pauseFolder(a act, pauses bool) error {
	f := s.running(a)
	if f == nil || f.paused == pauses {
		return nil
	}
	f.paused, f.moving = pauses, false
	return s.editFolder(a, "paused", stconfig.Boolean(pauses))
}

func (s *story) lag(a act) error {
	f := s.running(a)
	if f == nil {
		return nil
	}
	f.lacks = true
	return s.farm.Daemon(a.Daemon).Lag(s.folders[a.Folder], 2, 100)
}

func (s *story) transfer(a act, rate int64) error {
	f := s.running(a)
	if f == nil || f.problem != "" || f.paused {
		return nil
	}
	f.lacks, f.moving = true, rate > 0
	return s.farm.Daemon(a.Daemon).Transfer(s.folders[a.Folder], stsim.Transfer{Files: 100, Bytes: 1 << 50, Rate: rate})
}

func (s *story) editLocally(a act) error {
	f := s.running(a)
	if f == nil || f.sendOnly {
		return nil
	}
	f.receiveOnly, f.local, f.moving = true, true, false
	if err := s.editFolder(a, "type", stconfig.Text("receiveonly")); err != nil {
		return err
	}
	return s.farm.Daemon(a.Daemon).EditLocally(s.folders[a.Folder], 2, 100)
}

func (s *story) overrule(a act) error {
	f := s.running(a)
	if f == nil || f.receiveOnly {
		return nil
	}
	f.sendOnly, f.lacks, f.moving = true, true, false
	if err := s.editFolder(a, "type", stconfig.Text("sendonly")); err != nil {
		return err
	}
	return s.farm.Daemon(a.Daemon).Lag(s.folders[a.Folder], 2, 100)
}

func (s *story) editFolder(a act, name string, value stconfig.Value) error {
	return s.editMembers(a.Daemon, "folders", "id", s.folders[a.Folder], name, value)
}

// editMembers changes a member of a list in the configuration of a daemon, as a person there does.
func (s *story) editMembers(daemon int, list, key, id, name string, value stconfig.Value) error {
	return s.farm.Daemon(daemon).Edit(func(doc stconfig.Value) stconfig.Value {
		var members []stconfig.Value
		for member := range doc.Get(list).Values() {
			if member.Get(key).Str() == id {
				member = member.With(name, value)
			}
			members = append(members, member)
		}
		return doc.With(list, stconfig.List(members...))
	})
}

func (s *story) cutOff(a act, cut bool) error {
	if a.Peer == a.Daemon {
		return nil
	}
	s.cut[a.Daemon][a.Peer], s.cut[a.Peer][a.Daemon] = cut, cut
	if one, other := s.farm.Daemon(a.Daemon), s.farm.Daemon(a.Peer); cut {
		one.Disconnect(other)
	} else {
		one.Connect(other)
	}
	return nil
}

func (s *story) pausePeer(a act, pauses bool) error {
	if a.Peer == a.Daemon || s.daemons[a.Daemon].stopped {
		return nil
	}
	s.daemons[a.Daemon].pausesPeer[a.Peer] = pauses
	return s.editMembers(a.Daemon, "devices", "deviceID", string(s.farm.Daemon(a.Peer).ID()), "paused",
		stconfig.Boolean(pauses))
}

func (s *story) watch(a act, watches bool) error {
	d := &s.daemons[a.Daemon]
	if d.unwatched == !watches {
		return nil
	}
	mode := fleet.ModeOn
	if !watches {
		mode = fleet.ModePaused
		s.leave(a.Daemon)
	}
	d.unwatched = !watches
	return s.setMode(s.farm.Daemon(a.Daemon).ID(), mode)
}

func (s *story) restartMuster(act) error {
	for i := range s.daemons {
		s.leave(i)
		d := &s.daemons[i]
		d.figures, d.reached, d.maybeRead = true, false, false
		for folder := range truthFolders {
			d.folders[folder].conflicts.read, d.folders[folder].conflicts.maybeRead = false, false
		}
	}
	if err := s.end(); err != nil {
		return err
	}
	next, err := startWatcher(s.home, s.farm, s.receiver)
	if s.watcher = next; err == nil {
		for i := range s.daemons {
			s.tellDisks(i)
		}
	}
	return err
}

package stsim

// Transfer is what a folder brings in from its peers.
type Transfer struct {
	Files, Bytes int64
	Rate         int64 // bytes a second; 0: the folder is in state syncing, and nothing comes
}

// Transfer makes a folder lack files and bring them in, as fast as the rate says. FolderSummary tells of each step, and
// StateChanged of begin and end.
func (d *Daemon) Transfer(id string, t Transfer) error {
	err := d.withFolder(id, func(p *process, f *folder) {
		lag(&f.numbers, t.Files, t.Bytes)
		makeConsistent(&f.numbers)
		f.run++
		d.setState(p, id, f, statePreparing, "")
		d.setState(p, id, f, stateSyncing, "")
		d.summariseLater(p, id)
		if t.Rate > 0 {
			d.advanceLater(p, id, f.run, t.Rate)
		}
	})
	if err == nil {
		d.addAtPeers(id, t.Files, t.Bytes)
	}
	return err
}

// advanceLater brings in what comes in the time between two summaries, and so on until the folder has it all.
func (d *Daemon) advanceLater(p *process, id string, run int, rate int64) {
	pause := d.farm.options.Timing.Summary
	p.after(pause, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		f := d.folders[id]
		if f == nil || f.run != run || d.process != p {
			return
		}
		s := &f.numbers
		came := min(s.NeedBytes, max(1, int64(float64(rate)*pause.Seconds())))
		files := s.NeedFiles
		if came < s.NeedBytes {
			files = s.NeedFiles * came / s.NeedBytes
		}
		s.NeedBytes, s.LocalBytes = s.NeedBytes-came, s.LocalBytes+came
		s.NeedFiles, s.LocalFiles = s.NeedFiles-files, s.LocalFiles+files
		s.Sequence += files
		makeConsistent(s)
		if s.NeedBytes > 0 {
			d.advanceLater(p, id, run, rate)
		} else {
			d.setState(p, id, f, stateIdle, "")
		}
		d.indexed(p, id, f)
		d.summariseLater(p, id)
	})
}

package stsim

import (
	"fmt"

	"muster/internal/core/stconfig"
)

// Upgrade replaces the daemon's program by that of another version, in place: it stops, reads its configuration file
// as the new program does, and starts. Fields that the version does not have are gone, those that came have their
// default, and the document is migrated. Like the real one it does not go back to a version with an older
// configuration.
func (d *Daemon) Upgrade(to Version) error {
	if err := d.replaceProgram(to); err != nil {
		return err
	}
	return d.Start()
}

// replaceProgram stops the daemon and reads its configuration file as the new program does.
func (d *Daemon) replaceProgram(to Version) error {
	d.Stop()
	d.mu.Lock()
	if d.onDisk.Exists() {
		d.doc, d.onDisk = d.onDisk, stconfig.Value{}
	}
	doc, err := to.schema().readFile(d.doc, d.owner())
	if err == nil {
		d.doc = doc
		d.version.Store(&to)
	}
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("upgrade to %s: %w", to, err)
	}
	return nil
}

// readFile reads a configuration that a program of this or an older version saved. Other than in a PUT, what a folder
// or device lacks comes from the program's own defaults, not from the document's.
func (s *schema) readFile(doc stconfig.Value, o owner) (stconfig.Value, error) {
	if v := integerOf(doc.Get("version")); v > s.version {
		return doc, fmt.Errorf("config file version (%d) is newer than supported version (%d)", v, s.version)
	}
	read, err := s.config.decode(s.config.preset, doc, "")
	if err != nil {
		return doc, err
	}
	for name, of := range map[string]*shape{"folders": s.folder, "devices": s.device} {
		members, err := decodeMembers(of, of.preset, doc.Get(name))
		if err != nil {
			return doc, err
		}
		read = read.With(name, stconfig.List(members...))
	}
	return s.prepare(read, o)
}

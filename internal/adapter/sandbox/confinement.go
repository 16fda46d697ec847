package sandbox

import (
	"log/slog"
	"maps"
	"strings"

	"muster/internal/logkey"
)

// Measure is one of the means that keep a worker from everything but its pipes.
type Measure string

// The measures. All of them exist on Linux only.
const (
	SystemCallFilter  Measure = "systemCallFilter"  // seccomp: neither sockets nor programs nor processes nor files
	Landlock          Measure = "landlock"          // no file, no TCP port, no signal to other processes
	NoNewPrivileges   Measure = "noNewPrivileges"   // no program that it might start has more rights
	NoCapabilities    Measure = "noCapabilities"    // the process has no rights of root
	NotDumpable       Measure = "notDumpable"       // other processes of its user cannot trace it, and it is never dumped
	ResourceLimits    Measure = "resourceLimits"    // on memory, address space, processor time, descriptors, files
	ClosedDescriptors Measure = "closedDescriptors" // the pipes are its only open files
	NetworkNamespace  Measure = "networkNamespace"  // a network of its own, in which there is nothing
	OtherUser         Measure = "otherUser"         // it has a different user than a server that is root
)

// Measures are all measures, in the order in which they are shown.
var Measures = []Measure{
	SystemCallFilter, Landlock, NoNewPrivileges, NoCapabilities, NotDumpable, ResourceLimits, ClosedDescriptors,
	NetworkNamespace, OtherUser,
}

// Confinement tells for every measure why it is not in force; the text is empty where it is.
type Confinement map[Measure]string

// InForce reports whether a measure holds for the workers.
func (c Confinement) InForce(m Measure) bool {
	reason, known := c[m]
	return known && reason == ""
}

// noteConfinement logs what is in force when the first worker has started, and again when it changes.
func (p *Pool) noteConfinement(c Confinement) {
	p.mu.Lock()
	changed := !maps.Equal(p.confinement, c)
	p.confinement = c
	p.mu.Unlock()
	if !changed {
		return
	}
	var inForce []string
	var missing []any
	for _, m := range Measures {
		if c.InForce(m) {
			inForce = append(inForce, string(m))
		} else {
			missing = append(missing, slog.String(string(m), c[m]))
		}
	}
	p.opts.Log.Info("template workers are confined", slog.String(logkey.InForce, strings.Join(inForce, " ")),
		slog.Group(logkey.NotInForce, missing...))
}

// Confinement tells what is in force for the worker that started last. Before the first has started it is empty.
func (p *Pool) Confinement() Confinement {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.confinement)
}

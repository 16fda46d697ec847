package reconcile

import (
	"context"
	"errors"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// input is everything from which the plan of one device is made. It is a value: a stage that finds out more makes a
// new input. An input is not changed once a plan was made from it.
type input struct {
	id        fleet.DeviceID
	device    *fleet.Registered // nil: the device is not registered
	current   *fleet.Registry   // the present registry
	admitted  *generation       // the generation to which the device is admitted
	replaced  *fleet.Registry   // the registry before a change that is only tried out; nil: the plan is for now
	mode      fleet.Mode
	known     Known
	templates []fleet.Template // that apply to the device at the admitted generation

	doc    stconfig.Value    // the configuration, as last read
	digest string            // digest of doc
	run    string            // run of the daemon in which doc was read; "" when it is not known
	base   []fleet.BaseEntry // the device's ownership records
	unread map[string]string // by folder, why its ignore patterns are not known

	// Remembered from earlier passes, and from people's answers:
	ignores map[string][]string      // the ignore patterns by folder, as last read
	stopped map[string]fleet.Stop    // the stops by key
	answers map[string]fleet.Consent // the open answers of people, by key

	change *change // a person's own change; nil: the plan is that of the templates
	failed bool    // The templates make no plan: the plan only removes revoked devices.
}

// inputOf returns the input of a device that is admitted to this generation. current is the present registry. The
// input has no document yet, and no stops, answers or ignore patterns (see remembering).
func (e *Engine) inputOf(id fleet.DeviceID, current *fleet.Registry, admitted *generation) input {
	return input{id: id, current: current, admitted: admitted, mode: current.ModeAt(admitted.registry, id),
		device: current.Devices[id], known: e.o.Daemon.Known(id), templates: admitted.registry.TemplatesOf(id)}
}

// inputNow returns the input of a device as it is registered and admitted now, without a document.
func (e *Engine) inputNow(ctx context.Context, id fleet.DeviceID) (input, error) {
	current, err := e.o.Store.Registry(ctx)
	if err != nil {
		return input{}, err
	}
	admitted, err := e.generationOf(ctx, id, current)
	if err != nil {
		return input{}, err
	}
	return e.inputOf(id, current, admitted), nil
}

// remembering returns the input with the ignore patterns, stops and answers that the history has at this moment.
func (in input) remembering(h *history) input {
	in.ignores, in.stopped, in.answers = h.lastIgnores(), h.stops.Now(), h.answers.Open()
	return in
}

// reregistered returns the input with the device's present record. It returns not_found if the device was deleted,
// even if it was registered again.
func (e *Engine) reregistered(ctx context.Context, in input) (input, error) {
	current, err := e.o.Store.Registry(ctx)
	if err != nil {
		return in, err
	}
	if !in.isOf(current) {
		return in, fleet.NotFoundf("device %s was deleted meanwhile", in.id)
	}
	admitted, err := e.generationOf(ctx, in.id, current)
	if err != nil {
		return in, err
	}
	in.current, in.device, in.admitted = current, current.Devices[in.id], admitted
	return in, nil
}

// isOf reports whether the registry still has the device in the registration for which the input was made. Deleting a
// device and registering it again makes another registration.
func (in input) isOf(registry *fleet.Registry) bool {
	is := registry.Devices[in.id]
	return is != nil && is.CreatedAt.Equal(in.device.CreatedAt)
}

// blocked returns why nothing can be sent to the daemon now; "" if writes can be sent.
func (in input) blocked() string {
	switch {
	case in.mode != fleet.ModeOn:
		return "Muster only observes this device"
	case in.known.TooOld:
		return "the daemon is too old to manage"
	case !in.known.Online:
		return "the daemon cannot be reached now"
	}
	return ""
}

// smallDocument is the size in bytes up to which a document is parsed without taking memory from Memory.Take.
const smallDocument = 64 << 10

// withDocument returns the input with another document, observed. It returns an error if that document is not usable.
// If observed has the digest of the input's document, nothing is parsed. parsed is observed as a parsed document, or
// Absent if it was not parsed yet. take reserves memory for parsing a large document.
func (in input) withDocument(take func(bytes int64) error, observed fleet.ObservedConfig, parsed stconfig.Value,
) (input, error) {
	if observed.Digest != "" && observed.Digest == in.digest && in.doc.Exists() {
		return in, nil
	}
	if !parsed.Exists() {
		var err error
		if parsed, err = parse(take, observed.JSON); err != nil {
			return in, err
		}
	}
	if err := stconfig.Usable(parsed, in.id); err != nil {
		return in, err
	}
	if in.doc, in.digest = parsed, observed.Digest; in.digest == "" {
		in.digest = stconfig.Digest(parsed)
	}
	return in, nil
}

func parse(take func(bytes int64) error, document []byte) (stconfig.Value, error) {
	if len(document) > smallDocument {
		if err := take(stconfig.ParsedSize(document)); err != nil {
			return stconfig.Value{}, err
		}
	}
	return stconfig.Parse(document)
}

// foldersPresent returns those of these folders that the device has.
func (in input) foldersPresent(folders []string) (present []string) {
	has := map[string]bool{}
	for folder := range in.doc.Get("folders").Values() {
		has[folder.Get("id").Str()] = true
	}
	for _, folder := range folders {
		if has[folder] {
			present = append(present, folder)
		}
	}
	return present
}

// errNeverRead means that the daemon's configuration was never read.
var errNeverRead = errors.New("never read")

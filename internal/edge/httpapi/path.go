package httpapi

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"muster/internal/fleet"
)

// segment is a decoded segment of the path.
func (r *request) segment(name string) string {
	value := r.PathValue(name)
	if value == loneSlash {
		return "/"
	}
	return value
}

// deviceID is the device ID of the path, in canonical form whatever its spelling.
func (r *request) deviceID() (fleet.DeviceID, error) {
	id, err := fleet.ParseDeviceID(r.segment("deviceID"))
	return id, at("path.deviceID", err)
}

func (r *request) tag() (fleet.Tag, error) {
	tag, err := fleet.ParseTag(r.segment("tag"))
	return tag, at("path.tag", err)
}

func (r *request) templateID() (int64, error) { return r.number("templateID") }

// number takes the one decimal spelling of a number: what is read is the only address of a thing.
func (r *request) number(name string) (int64, error) {
	text := r.segment(name)
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || err == nil && strconv.FormatInt(id, 10) != text {
		return 0, fleet.Invalidf("path."+name, "%q is no %s: it is a whole number", text, numbered[name])
	}
	return id, nil // out of range: the nearest number, which nothing has
}

// numbered are the path parameters that are numbers, in words.
var numbered = map[string]string{
	"templateID": "template ID", "rolloutID": "rollout ID", "orderID": "order's number", "generation": "generation",
	"number": "revision's number", "other": "revision's number",
}

// folderID takes any text that a daemon may use as an ID.
func (r *request) folderID() (string, error) {
	id := r.segment("folderID")
	if !utf8.ValidString(id) {
		return "", requestf("path.folderID", "a folder ID is UTF-8 text; percent-encode its bytes")
	}
	return id, nil
}

func noDevice(id fleet.DeviceID) error {
	return &fleet.Error{
		Code: fleet.CodeNotFound, Message: "no device " + string(id) + " is registered",
		Hint: "GET " + Prefix + "/devices lists all; PUT registers one.", See: fleet.Reference{Subject: fleet.SeeDevices},
	}
}

func noTemplate(id int64) error {
	return &fleet.Error{
		Code: fleet.CodeNotFound, Message: "there is no template " + strconv.FormatInt(id, 10),
		Hint: "GET " + Prefix + "/templates lists all; POST makes one.", See: fleet.Reference{Subject: fleet.SeeTemplates},
	}
}

// notThere returns the not_found error about a thing that no list has. The hint says where the list is.
func notThere(see fleet.Subject, hint, format string, args ...any) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf(format, args...), Hint: hint,
		See: fleet.Reference{Subject: see}}
}

// orNotFound is err; where it says not_found, it is the one that tells the person where to look.
func orNotFound(err, known error) error {
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return known
	}
	return err
}

// ofDevice is the handler of a route whose path names a device.
func (s *base) ofDevice(handle func(*request, *fleet.Registered) (reply, error)) func(*request) (reply, error) {
	return func(r *request) (reply, error) {
		device, err := s.registered(r)
		if err != nil {
			return reply{}, err
		}
		return handle(r, device)
	}
}

// registered is the device of the path.
func (s *base) registered(r *request) (*fleet.Registered, error) {
	id, err := r.deviceID()
	if err != nil {
		return nil, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return nil, err
	}
	device := registry.Devices[id]
	if device == nil {
		return nil, noDevice(id)
	}
	return device, nil
}

// ofTemplate is the handler of a route whose path names a template.
func (s *base) ofTemplate(handle func(*request, *fleet.TaggedTemplate) (reply, error)) func(*request) (reply, error) {
	return func(r *request) (reply, error) {
		template, err := s.stored(r)
		if err != nil {
			return reply{}, err
		}
		return handle(r, template)
	}
}

// stored is the template of the path.
func (s *base) stored(r *request) (*fleet.TaggedTemplate, error) {
	id, err := r.templateID()
	if err != nil {
		return nil, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return nil, err
	}
	if t := registry.Template(id); t != nil {
		return t, nil
	}
	return nil, noTemplate(id)
}

func devicePath(id fleet.DeviceID) string { return Prefix + "/devices/" + string(id) }

func templatePath(id int64) string { return Prefix + "/templates/" + strconv.FormatInt(id, 10) }

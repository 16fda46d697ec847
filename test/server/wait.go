package server

import (
	"fmt"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/wait"
)

// WaitState waits until the device's state satisfies want.
func (s *Server) WaitState(id fleet.DeviceID, what string, want func(api.DeviceState) bool) api.DeviceState {
	s.t.Helper()
	var state api.DeviceState
	wait.Until(s.t, func() string {
		var err error
		if state, err = s.Client.DeviceState(s.t.Context(), string(id)); err != nil {
			return err.Error()
		}
		if want(state) {
			return ""
		}
		return fmt.Sprintf("%s: want %s, got %+v", id.Short(), what, state)
	})
	return state
}

// WaitConnection waits for a state of the connection.
func (s *Server) WaitConnection(id fleet.DeviceID, want fleet.Connection) api.DeviceState {
	s.t.Helper()
	return s.WaitState(id, string(want), func(state api.DeviceState) bool { return state.Connection == string(want) })
}

// WaitConfiguration waits until the device is online with a state of the configuration.
func (s *Server) WaitConfiguration(id fleet.DeviceID, want fleet.Configuration) api.DeviceState {
	s.t.Helper()
	return s.WaitState(id, "online and "+string(want), func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) && state.Configuration == string(want)
	})
}

// WaitReason waits until the device's connection or its configuration is in a state, for a reason with all these words.
// A state may be shown for another reason first.
func (s *Server) WaitReason(id fleet.DeviceID, want string, words ...string) api.DeviceState {
	s.t.Helper()
	return s.WaitState(id, fmt.Sprintf("%s because of %q", want, words), func(state api.DeviceState) bool {
		return (state.Connection == want || state.Configuration == want) &&
			!slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(state.Reason, word) })
	})
}

// Register registers a daemon by the API and tags it.
func (s *Server) Register(id fleet.DeviceID, key, address string, port int, tags ...string) {
	s.t.Helper()
	label, portNumber := id.Short(), int64(port)
	if _, _, err := s.Client.PutDevice(s.t.Context(), string(id),
		api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &portNumber, Label: &label}); err != nil {
		s.t.Fatal(err)
	}
	for _, tag := range tags {
		if _, err := s.Client.TagDevice(s.t.Context(), string(id), tag); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Template creates a template with tags and gives its ID.
func (s *Server) Template(op, key, text string, tags ...string) int64 {
	s.t.Helper()
	id, err := s.template(op, key, text, tags)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// TemplateUntilKilled is Template for a server that is killed by what the tags bring about, maybe before it answers.
func (s *Server) TemplateUntilKilled(op, key, text string, tags ...string) int64 {
	id, _ := s.template(op, key, text, tags)
	return id
}

func (s *Server) template(op, key, text string, tags []string) (int64, error) {
	label := op + " " + key
	made, err := s.Client.CreateTemplate(s.t.Context(), api.PutTemplate{Label: &label, Op: &op, Key: &key,
		Template: &text})
	if err != nil {
		return 0, err
	}
	for _, tag := range tags {
		if _, err := s.Client.TagTemplate(s.t.Context(), made.ID, tag); err != nil {
			return made.ID, err
		}
	}
	return made.ID, nil
}

// WaitRevision waits for a revision of a device in which a key has a value, and gives its number.
func (s *Server) WaitRevision(id fleet.DeviceID, key, want string) (number int64) {
	s.t.Helper()
	at, err := stconfig.ParseKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	wait.Until(s.t, func() string {
		revisions, err := s.Client.Revisions(s.t.Context(), string(id), client.List{})
		if err != nil {
			return err.Error()
		}
		for _, r := range revisions {
			revision, err := s.Client.Revision(s.t.Context(), string(id), r.Number)
			if err != nil {
				return err.Error()
			}
			doc, err := stconfig.Parse(revision.Config)
			if err != nil {
				return err.Error()
			}
			if v := stconfig.Lookup(doc, at); v.Exists() && string(v.JSON()) == want {
				number = r.Number
				return ""
			}
		}
		return fmt.Sprintf("none of %d revisions has %s at %s", len(revisions), want, key)
	})
	return number
}

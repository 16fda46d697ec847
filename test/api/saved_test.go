package api_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// document is a daemon's configuration as JSON.
type document = map[string]any

// savedParts are the parts of a configuration that a person saves as they are shown, with one field of each changed.
var savedParts = []struct {
	key, field string
	to         any
	in         func(document) document
}{
	{"options", "maxSendKbps", 4711.0, func(d document) document { return d["options"].(document) }},
	{"folders.docs", "rescanIntervalS", 7200.0, func(d document) document { return first(d["folders"]) }},
	{"devices.*", "name", "anna's", func(d document) document { return first(d["devices"]) }},
	{"defaults.folder", "maxConflicts", 7.0, func(d document) document {
		return d["defaults"].(document)["folder"].(document)
	}},
}

func first(list any) document { return list.([]any)[0].(document) }

// Fields of a real daemon that Muster did not know could not be saved as they are shown without a warning. A person
// takes what Muster shows of the daemon, changes one value in each part, and saves that. The daemon gets these values,
// and every other field of its configuration stays as it is; so also once a template is replaced.
func TestWhatARealDaemonShowsIsSavedAsItIsShown(t *testing.T) {
	t.Parallel()
	d := daemon.Start(t, daemon.Options{})
	d.AddFolder("docs")
	s := server.Start(t, server.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	want := configurationOf(d)
	var config json.RawMessage
	wait.Until(t, func() string {
		var err error
		if config, err = s.Client.DeviceConfig(t.Context(), string(d.ID)); err != nil {
			return "the configuration is not shown: " + err.Error()
		}
		return ""
	})
	var shown document
	if err := json.Unmarshal(config, &shown); err != nil {
		t.Fatal(err)
	}
	saved := map[string]int64{}
	for _, p := range savedParts {
		part := p.in(shown)
		delete(part, "unackedNotificationIDs") // The daemon adds to them by itself.
		part[p.field], p.in(want)[p.field] = p.to, p.to
		saved[p.key] = saveShown(t, s, d, p.key, part)
	}
	waitConfiguration(t, s, d, want)

	options := shown["options"].(document)
	options["maxSendKbps"], want["options"].(document)["maxSendKbps"] = 4712.0, 4712.0
	text := jsonOf(t, options)
	if _, err := s.Client.PutTemplate(t.Context(), saved["options"], api.PutTemplate{Op: new("merge"), Key: new("options"),
		Template: &text}); err != nil {
		t.Fatal(err)
	}
	waitConfiguration(t, s, d, want)
}

// saveShown saves a part of a configuration as a template. It would change one field, and nobody is warned.
func saveShown(t *testing.T, s *server.Server, d *daemon.Daemon, key string, part document) (id int64) {
	t.Helper()
	text := jsonOf(t, part)
	made, err := s.Client.EvaluateNewTemplate(t.Context(), api.EvaluateTemplate{Op: new("merge"), Key: &key,
		Template: &text}, string(d.ID))
	if err != nil || len(made.Changes) != 1 || len(made.Warnings) > 0 {
		t.Errorf("%s: got the changes %+v and the warnings %q, %v, want one change", key, made.Changes, made.Warnings, err)
	}
	return s.Template("merge", key, text, "office")
}

// waitConfiguration waits until the device is in sync, and the daemon has this configuration and nothing else.
func waitConfiguration(t *testing.T, s *server.Server, d *daemon.Daemon, want document) {
	t.Helper()
	wait.Until(t, func() string {
		if got := configurationOf(d); !reflect.DeepEqual(got, want) {
			return "the daemon has " + jsonOf(t, got) + "\nwant " + jsonOf(t, want)
		}
		return ""
	})
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	if got := configurationOf(d); !reflect.DeepEqual(got, want) {
		t.Errorf("in sync, the daemon has %s\nwant %s", jsonOf(t, got), jsonOf(t, want))
	}
}

// configurationOf reads a daemon's configuration, without the notices that the daemon adds by itself.
func configurationOf(d *daemon.Daemon) (config document) {
	d.GetJSON("/rest/config", &config)
	delete(config["options"].(document), "unackedNotificationIDs")
	return config
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

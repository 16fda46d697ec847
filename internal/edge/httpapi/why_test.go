package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// reasons plays the engine: one fold of the templates of the registry over the sample configuration.
type reasons struct{ w *world }

func (f reasons) Why(ctx context.Context, id fleet.DeviceID, key stconfig.Key) (desired.Explanation, error) {
	in, err := f.input(ctx, id)
	if err != nil {
		return desired.Explanation{}, err
	}
	return desired.Explain(in, key)
}

func (f reasons) input(ctx context.Context, id fleet.DeviceID) (desired.Input, error) {
	templates, _, err := f.TemplatesOf(ctx, id)
	in := desired.Input{Device: stconfig.SampleID, Observed: stconfig.Sample(),
		Evaluate: func(t fleet.Template, _ stconfig.Value) (desired.Fragment, error) {
			v, err := stconfig.Parse([]byte(t.Text))
			return desired.Fragment{Value: v}, err
		}}
	for _, t := range templates {
		in.Templates = append(in.Templates, t.Template)
	}
	return in, err
}

func (f reasons) Managed(ctx context.Context, id fleet.DeviceID) ([]desired.Managed, error) {
	in, err := f.input(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := desired.Fold(in)
	return r.Managed(), err
}

func (f reasons) TemplatesOf(ctx context.Context, id fleet.DeviceID) ([]fleet.TaggedTemplate, []fleet.Tag, error) {
	registry, err := f.w.store.Registry(ctx)
	if err != nil {
		return nil, nil, err
	}
	return registry.TaggedTemplatesOf(id), registry.Devices[id].Tags, nil
}

// explained is a world with a device to which three templates apply, two of which set the same key.
func explained(t *testing.T) *world {
	w := newWorld(t)
	w.with(func(o *setup) { o.Reasons = reasons{w} })
	w.device(idA, "nas")
	for _, tag := range []string{"home", "fast"} {
		w.put(Prefix+"/devices/"+string(idA)+"/tags/"+tag, "")
	}
	for _, body := range []string{
		`{"label":"quick","priority":20,"op":"merge","key":"options","template":"{\n  \"maxSendKbps\": 7\n}"}`,
		`{"label":"slow","priority":10,"op":"set","key":"options.maxSendKbps","template":"5"}`,
		`{"label":"secret","op":"set","key":"gui.password","template":"\"much too plain\""}`,
	} {
		path := w.template(body)
		w.put(path+"/tags/home", "")
	}
	return w
}

func TestWhySaysWhichTemplateMadeAValueAndWhatItReplaced(t *testing.T) {
	w := explained(t)
	got := read[api.Why](w, Prefix+"/devices/"+string(idA)+"/why?key=options.MAXSENDKBPS")
	if got.Key != "options.maxSendKbps" || string(got.Value) != "7" || string(got.Base) != "0" ||
		got.Origin != "template" ||
		string(got.Observed) != "0" || len(got.Steps) != 2 ||
		len(got.Conflicts) != 1 {
		t.Fatalf("got %+v", got)
	}
	slow, quick := got.Steps[0], got.Steps[1]
	if slow.Label != "slow" || slow.Priority != 10 || string(slow.From) != "0" || string(slow.To) != "5" ||
		slow.Line != 1 ||
		slow.At != "options.maxSendKbps" || slow.SavedBy != "admin" ||
		slow.SavedAt == nil {
		t.Errorf("got %+v", slow)
	}
	if quick.Label != "quick" || string(quick.From) != "5" || string(quick.To) != "7" || quick.Line != 2 ||
		len(quick.Tags) != 1 || quick.Tags[0] != "home" || quick.Op != "merge" {
		t.Errorf("got %+v", quick)
	}
	base := read[api.Why](w, Prefix+"/devices/"+string(idA)+"/why?key=options.natEnabled")
	if base.Origin != "base" || len(base.Steps) != 0 || string(base.Value) != string(base.Base) {
		t.Errorf("a key that no template names: %+v", base)
	}
	// Value, base and origin of a key that is not there were shown as null, as if it were one.
	for key, says := range map[string]string{"folders.gone.path": "the device has nothing at folders.gone.path",
		"options.natEnabledd": "did you mean natEnabled?"} {
		asked := call{method: http.MethodGet, path: Prefix + "/devices/" + string(idA) + "/why?key=" + key}
		if text := w.want(http.StatusNotFound, asked); !strings.Contains(text, says) {
			t.Errorf("%s: got %s", key, text)
		}
	}
}

func TestWhyShowsNoSecret(t *testing.T) {
	w := explained(t)
	got := read[api.Why](w, Prefix+"/devices/"+string(idA)+"/why?key=gui.password")
	if len(got.Steps) != 1 || string(got.Steps[0].To) == `"much too plain"` || string(got.Value) == `"much too plain"` {
		t.Errorf("got %+v", got)
	}
}

func TestWhyNamesOnePlace(t *testing.T) {
	w := explained(t)
	for _, key := range []string{"", "folders.*.path", "nothing.such", "options."} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet,
			path: Prefix + "/devices/" + string(idA) + "/why?key=" + key})
	}
	w.problem(
		http.StatusNotFound,
		call{method: http.MethodGet, path: Prefix + "/devices/" + string(idB) + "/why?key=gui.user"},
	)
}

func TestTheTemplatesOfADeviceComeInTheOrderInWhichTheyApply(t *testing.T) {
	w := explained(t)
	got := read[[]api.WhyTemplate](w, Prefix+"/devices/"+string(idA)+"/templates")
	if len(got) != 3 || got[0].Label != "secret" || got[1].Label != "slow" || got[2].Label != "quick" ||
		len(got[2].Tags) != 1 {
		t.Errorf("got %+v", got)
	}
}

// What a template names, and what the device has without it, could not be told apart in the configuration.
func TestTheKeysThatTemplatesManageAreListed(t *testing.T) {
	w := explained(t)
	got := read[[]api.ManagedKey](w, Prefix+"/devices/"+string(idA)+"/config/managed")
	want := []api.ManagedKey{{Key: "gui.password", Owner: "template", Templates: []int64{3}},
		{Key: "options.maxSendKbps", Owner: "template", Templates: []int64{2, 1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWhyNamesTheVarsThatATemplateReads(t *testing.T) {
	w := explained(t)
	w.put(Prefix+"/tags/home/vars", `{"vars":{"upload":7,"other":1}}`)
	path := w.template(`{"op":"set","key":"options.localAnnounceMCAddr","template":"\"device.vars.upload\""}`)
	w.put(path+"/tags/home", "")
	got := read[api.Why](w, Prefix+"/devices/"+string(idA)+"/why?key=options.localAnnounceMCAddr")
	want := []api.WhyVar{{Name: "upload", Value: []byte("7"), Tag: "home"}}
	if len(got.Steps) != 1 || !reflect.DeepEqual(got.Steps[0].Vars, want) {
		t.Fatalf("got %+v, want vars %+v", got, want)
	}
	if got.Help != "IPv6 multicast address and port of announcements in the local network." ||
		!strings.Contains(got.Reason, "sets it") {
		t.Errorf("help %q, reason %q", got.Help, got.Reason)
	}
}

package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Policy is the settings of the server; see policy.Policy. An unknown name is a not-found error.
type Policy interface {
	States() []fleet.SettingState
	State(name fleet.SettingName) (fleet.SettingState, error)
	// Put and Reset call check with the setting as it is.
	Put(ctx context.Context, name fleet.SettingName, text string,
		check func(*fleet.SettingState) error) (fleet.SettingState, error)
	Reset(ctx context.Context, name fleet.SettingName,
		check func(*fleet.SettingState) error) (fleet.SettingState, error)
}

// SettingTester tries a value of a setting without setting it, and returns for people what it found. nil is the value
// that holds.
type SettingTester interface {
	TestSetting(ctx context.Context, name fleet.SettingName, value *string) (found string, err error)
}

// PolicyHandlers show and change the settings of the server.
type PolicyHandlers struct {
	Policy Policy
	Tester SettingTester
}

func (s PolicyHandlers) routes(*base) []route {
	const all, one = Prefix + "/settings", Prefix + "/settings/{setting}"
	reply, off := reflect.TypeFor[api.Setting](), s.Policy == nil
	return []route{
		{method: http.MethodGet, path: all, name: "listSettings",
			summary:    "Settings of the server, with the value that holds and where it comes from",
			permission: auth.Read, reply: reflect.TypeFor[[]api.Setting](), off: off, handle: s.listSettings},
		{method: http.MethodGet, path: one, name: "getSetting", summary: "One setting of the server",
			permission: auth.Read, reply: reply, off: off, handle: s.getSetting},
		{method: http.MethodPut, path: one, name: "putSetting",
			summary: "Set a setting of the server, at once and without a restart unless it says otherwise; a flag of the " +
				"server overrides it",
			permission: auth.WriteSettings, body: reflect.TypeFor[api.PutSetting](), reply: reply, conditional: true,
			off: off, handle: s.putSetting},
		{method: http.MethodPost, path: one + "/reset", name: "resetSetting",
			summary: "Forget what was set, so that the default holds", permission: auth.WriteSettings, reply: reply,
			conditional: true, off: off, handle: s.resetSetting},
		{method: http.MethodPost, path: one + "/test", name: "testSetting",
			summary:    "Try a value of a setting without setting it, for example whether backups can be made in a folder",
			permission: auth.WriteSettings, body: reflect.TypeFor[api.TestSetting](), bodyOptional: true,
			reply: reflect.TypeFor[api.SettingTested](), volatile: true, off: s.Tester == nil, handle: s.testSetting},
	}
}

func (s PolicyHandlers) listSettings(*request) (reply, error) {
	return show(mapped(s.Policy.States(), wireSetting))
}

func (s PolicyHandlers) getSetting(r *request) (reply, error) {
	return shownSetting(s.Policy.State(settingIn(r)))
}

func (s PolicyHandlers) putSetting(r *request) (reply, error) {
	body, err := decode[api.PutSetting](r, "value")
	if err != nil {
		return reply{}, err
	}
	return shownSetting(s.Policy.Put(r.Context(), settingIn(r), *body.Value, condition(r, settingForEtag)))
}

func (s PolicyHandlers) resetSetting(r *request) (reply, error) {
	return shownSetting(s.Policy.Reset(r.Context(), settingIn(r), condition(r, settingForEtag)))
}

func (s PolicyHandlers) testSetting(r *request) (reply, error) {
	body, err := decodeOptional[api.TestSetting](r)
	if err != nil {
		return reply{}, err
	}
	state, err := s.Policy.State(settingIn(r))
	if err != nil {
		return reply{}, err
	}
	found, err := s.Tester.TestSetting(r.Context(), state.Name, body.Value)
	if err != nil {
		return reply{}, err
	}
	return show(api.SettingTested{Found: found})
}

func settingIn(r *request) fleet.SettingName { return fleet.SettingName(r.segment("setting")) }

func settingForEtag(state *fleet.SettingState) any { return wireSetting(*state) }

func shownSetting(state fleet.SettingState, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return show(wireSetting(state))
}

func shownValue(s fleet.SettingState) string {
	if s.Secret {
		return "set"
	}
	return s.Shown(s.Value)
}

func wireSetting(s fleet.SettingState) api.Setting {
	out := api.Setting{Name: string(s.Name), Group: s.Group, Kind: string(s.Kind), Help: s.Help, Value: s.Value,
		Shown: shownValue(s), From: s.From(), Range: s.Range(), Source: string(s.Source), Default: s.Default, Flag: s.Flag,
		Least: s.Least, Most: s.Most,
		Zero: s.Zero, Choices: s.Choices, Deletes: s.Deletes, Restart: s.Restart, Tests: s.Tests, Warning: s.Warning()}
	if s.Stored != nil {
		out.SetBy, out.HasStored = s.Stored.By, true
		if s.Kind != fleet.SettingSecret {
			out.Stored = &s.Stored.Value
		}
		out.SetAt = &api.Time{Time: s.Stored.At}
	}
	return out
}

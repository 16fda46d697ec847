package template

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

func evaluateVars(t *testing.T, text string, vars fleet.Vars) (Result, error) {
	t.Helper()
	program, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	own := Facts{DeviceID: "A", Label: "own", Vars: vars}
	return program.Evaluate(Input{Device: own, Fleet: NewFleet([]Facts{own, {DeviceID: "B", Vars: `{"x":1}`}})}, Limits{})
}

func TestAProgramReadsTheVarsOfItsDevice(t *testing.T) {
	const vars = `{"list":[1,2],"n":9007199254740993,"path":"/srv","sub":{"a":null,"f":1.5}}`
	for text, want := range map[string]string{
		`device.vars.path`:                              `"/srv"`,
		`device["vars"]["n"]`:                           `9007199254740993`,
		`device.vars.sub.f`:                             `1.5`,
		`device.vars.get("nothing", "else")`:            `"else"`,
		`[n for n in device.vars]`:                      `["list","n","path","sub"]`,
		`device.vars`:                                   vars,
		`[n for n in device][-1]`:                       `"vars"`,
		`[len([n for n in d]) for d in devices()]`:      `[8,8]`,
		"def template(device):\n  return device.vars.n": `9007199254740993`,
	} {
		r, err := evaluateVars(t, text, vars)
		if err != nil || string(r.Value.JSON()) != want {
			t.Errorf("%s: got %s, %v, want %s", text, r.Value.JSON(), err, want)
		}
	}
	if r, err := evaluateVars(t, `device.vars`, ""); err != nil || string(r.Value.JSON()) != `{}` {
		t.Errorf("without vars: got %s, %v", r.Value.JSON(), err)
	}
	for text, want := range map[string]string{
		`device.vars.pth`:             "device.vars has no field pth",
		`device.vars.sub.b`:           "device.vars.sub has no field b",
		`devices()[1].vars`:           "the vars and addresses of another device cannot be read",
		`devices()[1]["vars"]`:        "the vars and addresses of another device cannot be read",
		`[d.vars for d in devices()]`: "the vars and addresses of another device cannot be read",
	} {
		if _, err := evaluateVars(t, text, vars); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestOnlyAProgramThatReadsVarsDependsOnThem(t *testing.T) {
	a, b := Facts{DeviceID: "A", Vars: `{"x":1}`}, Facts{DeviceID: "A", Vars: `{"x":2}`}
	for text, reads := range map[string]bool{
		`device.vars.x`: true, `device.label`: false, `str(device)`: true, `len(devices())`: false, `{a: 1}`: false,
	} {
		program, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		in := program.Reads()
		differs := string(a.AppendDigest(nil, in.Device)) != string(b.AppendDigest(nil, in.Device))
		if in.ReadsVars() != reads || differs != reads {
			t.Errorf("%s: reads vars: %t, differs with them: %t, want %t", text, in.ReadsVars(), differs, reads)
		}
	}
	if NewFleet([]Facts{a}).Digest() != NewFleet([]Facts{b}).Digest() {
		t.Error("the fleet differs by vars, which no program can read of it")
	}
}

package template

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

var update = flag.Bool("update", false, "write what the golden files should say")

// A golden file holds a template and, where they matter, a device, a fleet, a config, the names of the secrets and
// limits; its section "want" is what comes of it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testGolden(t, file) })
	}
}

func testGolden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	section := func(name string) []byte {
		for _, f := range archive.Files {
			if f.Name == name {
				return f.Data
			}
		}
		return nil
	}
	in, limits := goldenInput(t, section)
	got := describe(string(section("template")), in, limits)
	if want := string(section("want")); got == want {
		return
	} else if !*update {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	kept := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != "want" {
			kept = append(kept, f)
		}
	}
	archive.Files = append(kept, txtar.File{Name: "want", Data: []byte(got)})
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goldenInput takes the sections of the file, or else three devices and a small configuration.
func goldenInput(t *testing.T, section func(string) []byte) (Input, Limits) {
	t.Helper()
	in := Input{Device: someDevices()[0], Fleet: NewFleet(someDevices()), Config: someConfig(t)}
	var limits Limits
	for name, into := range map[string]any{"device": &in.Device, "limits": &limits, "secrets": &in.Secrets} {
		if data := section(name); data != nil {
			if err := json.Unmarshal(data, into); err != nil {
				t.Fatalf("section %s: %v", name, err)
			}
		}
	}
	if data := section("fleet"); data != nil {
		var devices []Facts
		if err := json.Unmarshal(data, &devices); err != nil {
			t.Fatal(err)
		}
		in.Fleet = NewFleet(devices)
	}
	if data := section("config"); data != nil {
		in.Config = parse(t, string(data))
	}
	return in, limits
}

func describe(text string, in Input, limits Limits) string {
	var b strings.Builder
	p, err := CompileNew(text)
	if err == nil {
		fmt.Fprintf(&b, "language: %s\n", p.Language())
		if reads := readsText(p.Reads()); reads != "" {
			fmt.Fprintf(&b, "reads: %s\n", reads)
		}
		var result Result
		if result, err = p.Evaluate(in, limits); err == nil {
			fmt.Fprintf(&b, "value: %s\n", result.Value.JSON())
			for _, line := range result.Output {
				fmt.Fprintf(&b, "output: %s\n", line)
			}
			return b.String()
		}
	}
	var fault *fleet.Error
	if !errors.As(err, &fault) {
		return fmt.Sprintf("NO FLEET ERROR: %v\n", err)
	}
	fmt.Fprintf(&b, "%s\n", fault.Code)
	for _, d := range fault.Details {
		fmt.Fprintf(&b, "%s %d:%d: %s\n", d.Field, d.Line, d.Column, d.Message)
	}
	if fault.Hint != "" {
		fmt.Fprintf(&b, "hint: %s\n", fault.Hint)
	}
	if fault.Traceback != "" {
		fmt.Fprintf(&b, "%s\n", fault.Traceback)
	}
	return b.String()
}

func readsText(in fleet.Inputs) string {
	var names []string
	if in.Device == fleet.AllFacts {
		names = append(names, "device")
	} else {
		for _, name := range strings.Fields(string(in.Device)) {
			names = append(names, "device."+name)
		}
	}
	for _, other := range []struct {
		name string
		read bool
	}{{"config", in.Config}, {"devices", in.Devices}, {"tags", in.Tags}, {"secrets", in.Secrets}} {
		if other.read {
			names = append(names, other.name)
		}
	}
	return strings.Join(names, " ")
}

func someDevices() []Facts {
	return []Facts{
		{DeviceID: "AAAA", Label: "alpha", Tags: []fleet.Tag{"hub", "linux"}, APIAddress: "10.0.0.1", APIPort: 8384,
			OS: "linux", Arch: "amd64", Version: "v2.1.3"},
		{DeviceID: "BBBB", Label: "beta", Tags: []fleet.Tag{"linux"}, APIPort: 8385, OS: "linux", Arch: "arm64",
			Version: "v1.19.2"},
		{DeviceID: "CCCC", Label: "gamma", Tags: []fleet.Tag{"laptop"}, APIPort: 8384, OS: "windows", Arch: "amd64",
			Version: "v2.1.3"},
	}
}

func someConfig(t *testing.T) stconfig.Value {
	return parse(t, `{"version":52,
		"folders":[{"id":"photos","path":"/srv/photos",
			"devices":[{"deviceID":"AAAA","encryptionPassword":""},{"deviceID":"BBBB","encryptionPassword":"hidden-1"}]}],
		"devices":[{"deviceID":"AAAA","name":"alpha","addresses":["dynamic"]},
			{"deviceID":"BBBB","name":"beta","addresses":[]}],
		"gui":{"address":"127.0.0.1:8384","user":"me","password":"hidden-2","apiKey":"hidden-3"},
		"options":{"natEnabled":true,"maxSendKbps":0,"big":123456789012345678901234567890,"ratio":0.1,"listenAddresses":["default"]}}`)
}

func parse(t *testing.T, text string) stconfig.Value {
	t.Helper()
	v, err := stconfig.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

package owner_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/test/wait"
)

// muster types a command of the administrator. A plan that has something to change or to say ends with 5.
func (p *place) muster(args ...string) (printed string) {
	p.t.Helper()
	want := []int{0}
	if args[0] == "plan" {
		want = append(want, 5)
	}
	var out bytes.Buffer
	args = append(args, "--server", p.s.URL, "--token", p.s.Token)
	code := cli.Run(p.t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, "test")
	if !slices.Contains(want, code) {
		p.t.Fatalf("muster %s: ends with %d\n%s", strings.Join(args, " "), code, &out)
	}
	return out.String()
}

// file writes a template for the daemon into a directory of files.
func (p *place) file(dir, name, key, text string) {
	p.t.Helper()
	content := "# label: " + name + "\n# priority: 10\n# op: set\n# key: " + key + "\n# tags: it\n" + text + "\n"
	path := filepath.Join(dir, "templates", name+".hjson")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// A person moved a folder at the daemon and wanted it to stay there. `keep` was 422 and did not say how.
func TestAPathThatAPersonMovedStaysByWhatTheErrorSays(t *testing.T) {
	t.Parallel()
	on(t, startReal, func(p *place) {
		p.template(10, "merge", "folders", `[{"id": "made", "path": "~/made"}]`)
		p.becomes("folders.made.id", `"made"`)
		p.rests(fleet.ConfigInSync)
		elsewhere := t.TempDir()
		p.patch("folders/made", `{"path": "`+elsewhere+`"}`)
		p.becomes("folders.made.path", `"`+elsewhere+`"`)
		plan := p.rests(fleet.ConfigHeld)
		var refused *fleet.Error
		_, err := p.s.Client.ApplyPlan(t.Context(), string(p.id),
			api.ApplyPlan{Digest: &plan.Digest, Keep: []string{"folders.made.path"}})
		if !errors.As(err, &refused) || refused.Code != fleet.CodeInvalid ||
			!strings.Contains(refused.Hint, "muster template put FILE") {
			t.Fatalf("got %v", err)
		}

		p.template(11, "set", "folders.made.path", `"`+elsewhere+`"`)
		p.rests(fleet.ConfigInSync)
		p.becomes("folders.made.path", `"`+elsewhere+`"`)
	})
}

// `apply -f` of a template about something else let a contended key be written again. The plan of another value for it
// listed the key as a change and as no longer planned.
func TestAnUnrelatedApplyEndsNoContention(t *testing.T) {
	t.Parallel()
	on(t, startReal, func(p *place) {
		dir := t.TempDir()
		p.file(dir, "rate", "options.maxSendKbps", "1000")
		p.muster("apply", "-f", dir, "--yes")
		for range 3 {
			p.becomes("options.maxSendKbps", "1000")
			p.rests(fleet.ConfigInSync)
			p.patch("options", `{"maxSendKbps": 55}`)
		}
		p.rests(fleet.ConfigContended)

		p.file(dir, "nat", "options.natEnabled", "false")
		p.muster("apply", "-f", dir, "--yes")
		p.becomes("options.natEnabled", "false")
		p.rests(fleet.ConfigContended)
		p.becomes("options.maxSendKbps", "55")

		p.file(dir, "rate", "options.maxSendKbps", "2000")
		out := p.muster("plan", "-f", dir)
		if !strings.Contains(out, "options.maxSendKbps: 55 -> 2000") || strings.Contains(out, "no longer planned") {
			t.Errorf("the plan is\n%s", out)
		}
		p.muster("apply", "-f", dir, "--yes")
		p.becomes("options.maxSendKbps", "2000")
		p.rests(fleet.ConfigInSync)
	})
}

// One ID was foretold of three new templates: only the store gives IDs.
func TestNoIDsOfNewTemplatesAreForetold(t *testing.T) {
	t.Parallel()
	on(t, startReal, func(p *place) {
		p.rests(fleet.ConfigUnmanaged)
		dir := t.TempDir()
		for name, key := range map[string]string{"a": "options.natEnabled", "b": "options.relaysEnabled",
			"c": "options.globalAnnounceEnabled"} {
			p.file(dir, name, key, "false")
		}
		if out := p.muster("plan", "-f", dir); strings.Contains(out, "ID") {
			t.Errorf("the plan foretells an ID:\n%s", out)
		}
		p.muster("apply", "-f", dir, "--yes")
		wait.Until(t, func() string {
			for _, name := range []string{"a", "b", "c"} {
				if out := p.muster("template", "get", name); !strings.Contains(out, "label: "+name) {
					return "there is no template " + name + ":\n" + out
				}
			}
			return ""
		})
	})
}

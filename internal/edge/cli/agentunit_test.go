package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// plistOf reads a property list that is a dictionary of texts, truths and lists of texts.
func plistOf(t *testing.T, text string) map[string]any {
	t.Helper()
	type element struct {
		XMLName xml.Name
		Text    string    `xml:",chardata"`
		In      []element `xml:",any"`
	}
	var root element
	decoder := xml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&root); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if _, err := decoder.Token(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("after the list: %v", err)
	}
	if root.XMLName.Local != "plist" || len(root.In) != 1 || root.In[0].XMLName.Local != "dict" ||
		len(root.In[0].In)%2 != 0 {
		t.Fatalf("not one dictionary of pairs:\n%s", text)
	}
	values := map[string]any{}
	for pairs := root.In[0].In; len(pairs) > 0; pairs = pairs[2:] {
		key, value := pairs[0], pairs[1]
		if key.XMLName.Local != "key" || values[key.Text] != nil {
			t.Fatalf("%s %q in place of a new key", key.XMLName.Local, key.Text)
		}
		switch value.XMLName.Local {
		case "string":
			values[key.Text] = value.Text
		case "true", "false":
			values[key.Text] = value.XMLName.Local == "true"
		case "array":
			var words []string
			for _, word := range value.In {
				if word.XMLName.Local != "string" {
					t.Fatalf("%s in a list of words", word.XMLName.Local)
				}
				words = append(words, word.Text)
			}
			values[key.Text] = words
		default:
			t.Fatalf("%s: a value of the kind %s", key.Text, value.XMLName.Local)
		}
	}
	return values
}

// The keys are those of launchd.plist(5).
func TestThePropertyListForLaunchdIsWellFormed(t *testing.T) {
	t.Parallel()
	command := []string{"/usr/local/bin/muster", "agent", "run", "--home", `/Users/ann/a & <b> "c" 'd'`, "", "two\nlines"}
	want := map[string]any{"Label": "muster-agent", "ProgramArguments": command, "RunAtLoad": true, "KeepAlive": true,
		"ProcessType": "Background"}
	text := launchdPlist(command)
	if got := plistOf(t, text); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
	if !strings.HasPrefix(text, `<?xml version="1.0" encoding="UTF-8"?>`+"\n<!DOCTYPE plist PUBLIC ") {
		t.Errorf("no property list by its first lines:\n%s", text)
	}
}

func TestWordsForWindowsAreQuoted(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		`C:\muster.exe`:        `C:\muster.exe`,
		`C:\Program Files\m`:   `"C:\Program Files\m"`,
		`a dir\`:               `"a dir\\"`,
		`say "x"`:              `"say \"x\""`,
		`a \" b`:               `"a \\\" b"`,
		"":                     `""`,
		"--fingerprint=sha256": "--fingerprint=sha256",
	} {
		if got := quotedForWindows(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
	got := windowsTask([]string{`C:\Program Files\muster.exe`, "agent", "run", "--home", `C:\Ann's home`})
	for _, want := range []string{
		`-Execute '"C:\Program Files\muster.exe"' -Argument 'agent run --home "C:\Ann''s home"'` + "\n",
		"-ExecutionTimeLimit ([TimeSpan]::Zero)", "-DontStopIfGoingOnBatteries `\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in:\n%s", want, got)
		}
	}
}

// The service that is printed had no enrol key, as systemd hands that over in its own way.
func TestAPrintedServiceNamesTheFileOfItsKey(t *testing.T) {
	t.Parallel()
	s := agentService{command: []string{"muster", "agent", "run"}, keyFile: "/etc/key"}
	want := []string{"muster", "agent", "run", "--key-file", "/etc/key"}
	if got := s.printed(); !reflect.DeepEqual(got, want) || len(s.command) != 3 {
		t.Errorf("got %q of %q", got, s.command)
	}
	if got := (agentService{command: want}).printed(); !reflect.DeepEqual(got, want) {
		t.Errorf("without a key: got %q", got)
	}
}

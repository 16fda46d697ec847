package cli

import (
	"slices"
	"testing"

	"muster/api"
)

func TestALineIsSplitAsAShellDoes(t *testing.T) {
	for line, want := range map[string][]string{
		"":                      {""},
		"  muster  device ":     {"muster", "device", ""},
		`muster get a\ b`:       {"muster", "get", "a b"},
		`muster get "a \"b" 'c`: {"muster", "get", `a "b`, "c"},
		`muster get a"b c`:      {"muster", "get", "ab c"},
		`muster get a\`:         {"muster", "get", "a"},
		`muster 'a\b' x`:        {"muster", `a\b`, "x"},
	} {
		if got, _ := splitLine(line); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestWordsAreCompletedWhereTheyStand(t *testing.T) {
	model := modelOf(t, describedCommands()).Model
	kinds := func(kind string) []candidate { return []candidate{{word: "live " + kind}} }
	for _, test := range []struct {
		words []string
		want  string // one of the candidates; "": there is none
	}{
		{[]string{"rollou"}, "rollout"},
		{[]string{"rollout", "show", ""}, "live ROLLOUT"},
		{[]string{"rollout", "show", "1", ""}, ""},
		{[]string{"rollout", "consen"}, ""}, // hidden
		{[]string{"secret", "delete", ""}, "live SECRET"},
		{[]string{"device", "tag", "x", "a", "b", ""}, "live DEVICE"},
		{[]string{"device", "list", "--tag", ""}, "live TAG"},
		{[]string{"device", "list", "--tag="}, "--tag=live TAG"},
		{[]string{"device", "list", "--tag", "x", "--ta"}, "--tag"},
		{[]string{"device", "list", "--search", "x", "--searc"}, ""},
		{[]string{"device", "get", "-ojson", "--api-verbose", "l"}, "live DEVICE"},
		{[]string{"device", "get", "--", "--"}, ""},
		{[]string{"consent", "give", ""}, "live HELD"},
		{[]string{"source", "forget", ""}, "live SOURCE"},
		{[]string{"apply", "--plan", ""}, "live DIGEST"},
		{[]string{"completion", ""}, "fish"},
		{[]string{"export", ""}, directoriesWord},
		{[]string{"template", "put", ""}, filesWord},
		{[]string{"nothing", "known", ""}, "device"},
		{[]string{"device", "--nothing=1", "lis"}, "list"},
		{[]string{"device", "restart", "--filter", "sta"}, "state="},
		{[]string{"device", "restart", "--filter", "state=he"}, "state=held"},
		{[]string{"device", "restart", "--filter=tag="}, "--filter=tag=live TAG"},
		{[]string{"device", "restart", "--filter", "version="}, "version=live VERSION"},
		{[]string{"device", "list", "--state", "onl"}, "online"},
		{[]string{"device", "list", "--folder-state", "sto"}, "stopped"},
		{[]string{"folder", "list", "--state", "loc"}, "localChanges"},
		{[]string{"folder", "list", "--state", "onl"}, ""},
		{[]string{"device", "list", "--waiting", "pinM"}, "pinMismatch"},
		{[]string{"device", "list", "--sort", "-to"}, "-to-go"},
		{[]string{"device", "list", "--columns", "device,ver"}, "device,version"},
		{[]string{"tag", "list", "--sort", ""}, "tag"},
		{[]string{"template", "list", "-o", "ya"}, "yaml"},
		{[]string{"folder", "get", "x", "--sort", "conn"}, "connected"},
		{[]string{"why", "laptop", "opt"}, "options."},
		{[]string{"why", "laptop", "options.maxS"}, "options.maxSendKbps"},
		{[]string{"why", "laptop", "folders."}, "folders.live FOLDER."},
		{[]string{"why", "laptop", "folders.photos.ver"}, "folders.photos.versioning."},
		{[]string{"why", "laptop", "folders.*.pa"}, "folders.*.paused"},
		{[]string{"why", "laptop", "devices."}, "devices.*."},
		{[]string{"why", "laptop", "nothing."}, ""},
		{[]string{"apply", "laptop", "--consent", "folders.photos.pat"}, "folders.photos.path"},
		{[]string{"revision", "restore", "laptop", "1", "--section", "gu"}, "gui."},
		{[]string{"consent", "give", "x", "--rollout", ""}, "live ROLLOUT"},
		{[]string{"events", "--kind", "ord"}, "order"},
		{[]string{"device", "settings", "--mode", "obs"}, "observe"},
		{[]string{"revocation", "delete", ""}, "live REVOCATION"},
		{[]string{"device", "rescan", "--folder", ""}, "live FOLDER"},
		{[]string{"user", "create", "ann", "--role", "au"}, "author"},
		{[]string{"enroll", "--key", ""}, ""},
	} {
		last := len(test.words) - 1
		at := readWords(model, test.words[:last])
		got := at.candidates(test.words[last], kinds)
		has := slices.ContainsFunc(got, func(c candidate) bool { return c.word == test.want })
		if test.want == "" && len(got) > 0 || test.want != "" && !has {
			t.Errorf("%q: got %v, want %q", test.words, got, test.want)
		}
	}
}

func TestTheStepOfARolloutIsSaidInAFewWords(t *testing.T) {
	r := api.RolloutDetail{Rollout: api.Rollout{ID: 7, Status: "running", Wave: 1, Waves: []int{1, 2}},
		Members: []api.RolloutMember{{State: "good"}, {State: "held"}, {State: "later"}}}
	if got := stepOf(r); got != "Rollout 7: running, wave 1/2: 1 good, 1 held" {
		t.Errorf("got %q", got)
	}
	if isOver(r) || throughOf(r) != 1 {
		t.Errorf("got %v, %d", isOver(r), throughOf(r))
	}
	r.Status = "halted"
	if !isOver(r) || outcomeOf(r) != exitCode(exitRefused) {
		t.Errorf("got %v, %v", isOver(r), outcomeOf(r))
	}
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

type deviceConfigCommand struct {
	namedDevice
	paging
	Search  []string `arg:"" optional:"" name:"key" help:"A key such as options.natEnabled or folders.photos, with everything below it; or words that a key or its value has."`
	Why     bool     `env:"-" help:"Explain where each value comes from."`
	Managed bool     `env:"-" help:"Only keys whose values templates ask for."`
	Waiting bool     `env:"-" help:"Only keys at which a change waits."`
	Output  string   `short:"o" env:"-" help:"json, yaml; table: one key on each line; csv: for spreadsheets; or name: the keys alone, and of a whole configuration the IDs of its folders. Without it, a whole configuration is JSON and a search is a table." default:"" enum:",table,json,yaml,csv,name"`
}

// configKey is a key of a daemon's configuration.
type configKey struct {
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`     // secrets masked
	Owner     string          `json:"owner"`     // template, implied or daemon; "": the device has the value without Muster
	Templates []int64         `json:"templates"` // templates that ask for the value; the last one decides
	Waits     string          `json:"waits"`     // class of a change that waits: held, refused, free; "": none
}

// mostExplained is how many keys --why explains: the server plans the device for each of them.
const mostExplained = 20

// Run prints the configuration that the daemon was last seen with, or the keys of it that are asked for.
func (c *deviceConfigCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	config, err := server.DeviceConfig(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	if len(c.Search) > 0 || c.Why || c.Managed || c.Waiting || c.Output == "csv" {
		return c.printKeys(ctx, env, server, device, config)
	}
	switch c.Output {
	case "name":
		return printFolderIDs(env, config)
	case "table":
		return printOptions(env, config)
	}
	return printValue(env, output{cmp.Or(c.Output, "json")}, config)
}

func (c *deviceConfigCommand) printKeys(ctx context.Context, env *environment, server *client.Client, device api.Device,
	config json.RawMessage) error {
	keys, err := c.keys(ctx, env, server, device, config)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return &fleet.Error{Code: fleet.CodeNotFound, Message: "no key of the configuration matches",
			Hint: "`muster device config DEVICE` prints all of it."}
	}
	if c.Why {
		return c.explain(ctx, env, server, device, keys)
	}
	names, err := templateNames(ctx, server, keys)
	if err != nil {
		return err
	}
	return printList(env, output{cmp.Or(c.Output, "table")}, columns[configKey]{
		titles: []string{"KEY", "VALUE", "FROM", "WAITS"},
		name:   func(k configKey) string { return k.Key },
		row: func(k configKey) []string {
			return []string{k.Key, valueIn(k.Value), k.from(names), orDash(k.Waits)}
		},
	}, keys)
}

// explain prints where the value of each key comes from.
func (c *deviceConfigCommand) explain(ctx context.Context, env *environment, server *client.Client, device api.Device,
	keys []configKey) error {
	if len(keys) > mostExplained {
		return &fleet.Error{Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("%d keys match, and at most %d are explained at once", len(keys), mostExplained),
			Hint:    "Name a key, or more words of it. Without --why the keys are listed."}
	}
	all := make([]api.Why, len(keys))
	for i, key := range keys {
		var err error
		if all[i], err = server.DeviceWhy(ctx, device.DeviceID, key.Key); err != nil {
			return err
		}
	}
	if c.Output != "" && c.Output != "table" {
		names := make([]string, len(keys))
		for i, key := range keys {
			names[i] = key.Key
		}
		return output{c.Output}.print(env, all, names...)
	}
	p := newPainter(ctx, server, env.Out, "auto")
	for _, why := range all {
		p.explain(named(device), why)
	}
	return p.err
}

// keys are those of the configuration that the command line asks for.
func (c *deviceConfigCommand) keys(ctx context.Context, env *environment, server *client.Client, device api.Device,
	config json.RawMessage) ([]configKey, error) {
	doc, err := stconfig.Parse(config)
	if err != nil {
		return nil, err
	}
	marks, err := marksOf(ctx, server, device)
	switch {
	case err != nil && (c.Managed || c.Waiting):
		return nil, err
	case err != nil: // A template of the device fails. What the daemon has is known without the marks.
		fmt.Fprintln(env.Err, printable("It is not known where values come from: "+fleet.Reason(err)))
	}
	picks := c.picker(doc)
	keys := []configKey{}
	stconfig.Leaves(stconfig.Key{}, doc, func(at stconfig.Key, leaf stconfig.Value) {
		key := marks.key(at, leaf)
		isAsked := (!c.Managed || key.Owner == "template" || key.Owner == "implied") && (!c.Waiting || key.Waits != "")
		if isAsked && picks(at, key) {
			keys = append(keys, key)
		}
	})
	return keys, nil
}

// picker reports which keys the words pick: what is at or below a key that is there, otherwise what has all words in
// its key or value, whatever their letter case.
func (c *deviceConfigCommand) picker(doc stconfig.Value) func(stconfig.Key, configKey) bool {
	if len(c.Search) == 1 {
		if key, err := stconfig.ParseKey(c.Search[0]); err == nil && stconfig.Lookup(doc, key).Exists() {
			return func(at stconfig.Key, _ configKey) bool { return at.HasPrefix(key) }
		}
	}
	words := strings.Fields(strings.ToLower(strings.Join(c.Search, " ")))
	return func(_ stconfig.Key, key configKey) bool {
		text := strings.ToLower(key.Key + " " + string(key.Value))
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	}
}

// configMarks say what templates manage of a configuration, and what waits.
type configMarks struct {
	managed map[string]api.ManagedKey
	waits   map[string]string
}

// marksOf asks for the marks of a device.
func marksOf(ctx context.Context, server *client.Client, device api.Device) (m configMarks, err error) {
	managed, err := server.DeviceManagedKeys(ctx, device.DeviceID)
	if err != nil {
		return m, err
	}
	plan, err := server.DevicePlan(ctx, device.DeviceID)
	if err != nil {
		return m, err
	}
	m = configMarks{managed: map[string]api.ManagedKey{}, waits: map[string]string{}}
	for _, key := range managed {
		m.managed[key.Key] = key
	}
	for _, change := range plan.Changes {
		if change.Class != "skipped" {
			m.waits[change.Key] = waitWord(change)
		}
	}
	return m, nil
}

// waitWord is why a change of a plan is not made yet.
func waitWord(change api.PlannedChange) string {
	switch {
	case change.Drift:
		return change.Class + ", drift"
	case change.Consented:
		return "consented"
	}
	return change.Class
}

// key returns a value with the marks of the nearest key at or above it.
func (m configMarks) key(at stconfig.Key, leaf stconfig.Value) configKey {
	out := configKey{Key: at.String(), Value: leaf.JSON(), Templates: []int64{}}
	for up := at; !up.IsRoot(); up = up.Parent() {
		text := up.String()
		if mark, found := m.managed[text]; found && out.Owner == "" {
			out.Owner, out.Templates = mark.Owner, mark.Templates
		}
		if waits, found := m.waits[text]; found && out.Waits == "" {
			out.Waits = waits
		}
	}
	return out
}

// from names the template that decides, or who else has set the value.
func (k configKey) from(names map[int64]string) string {
	if len(k.Templates) > 0 {
		last := k.Templates[len(k.Templates)-1]
		return "template " + strings.TrimSpace(strconv.FormatInt(last, 10)+" "+names[last])
	}
	switch k.Owner {
	case "implied":
		return "a shared folder"
	case "daemon":
		return "the daemon, in what Muster made"
	}
	return "-"
}

// templateNames are the labels of the templates that keys name. Without any, the server is not asked.
func templateNames(ctx context.Context, server *client.Client, keys []configKey) (map[int64]string, error) {
	names := map[int64]string{}
	if !slices.ContainsFunc(keys, func(k configKey) bool { return len(k.Templates) > 0 }) {
		return names, nil
	}
	all, err := server.Templates(ctx, client.List{})
	for _, t := range all {
		names[t.ID] = t.Label
	}
	return names, err
}

// printFolderIDs prints the IDs of the folders of a configuration.
func printFolderIDs(env *environment, config json.RawMessage) error {
	var parts struct {
		Folders []struct{ ID string }
	}
	if err := json.Unmarshal(config, &parts); err != nil {
		return err
	}
	for _, folder := range parts.Folders {
		fmt.Fprintln(env.Out, printable(folder.ID))
	}
	return nil
}

// printOptions prints what is not in a list of a configuration, one key on each line.
func printOptions(env *environment, config json.RawMessage) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(config, &parts); err != nil {
		return err
	}
	table := newTable(env.Out)
	fmt.Fprintln(table, "KEY\tVALUE")
	for _, section := range slices.Sorted(maps.Keys(parts)) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(parts[section], &fields) != nil {
			continue // the section is a list
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			fmt.Fprintf(table, "%s\t%s\n", printable(section+"."+name), printable(valueIn(fields[name])))
		}
	}
	return table.Flush()
}

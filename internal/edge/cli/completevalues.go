package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// kindsOfFlags say which kind the value of a flag is of, where the placeholder does not say it.
var kindsOfFlags = map[string]string{
	"folder-state": "FOLDER-STATE", "connection": "CONNECTION", "configuration": "CONFIGURATION", "rollout": "ROLLOUT",
	"folder": "FOLDER", "source": "SOURCE", "who": "USER", "server": "CONTEXT",
}

// kindOf is the kind of the values of a flag or an argument. The commands of a noun may use a word in another sense.
func (t *typed) kindOf(value *kong.Value, placeholder string) string {
	if value.Flag != nil && value.Tag.Has("secret") { // An enrol key or token; nothing may show it.
		return ""
	}
	for _, node := range []*kong.Node{t.node, t.node.Parent} {
		if node == nil {
			continue
		}
		if kind, known := kindsOfCommands[node.Name+" "+placeholder]; known {
			return kind
		}
	}
	if kind := kindsOfFlags[value.Name]; value.Flag != nil && kind != "" {
		return kind
	}
	return placeholder
}

// ordered is a command that sorts what it lists.
type ordered interface{ orders() []string }

// fixedValues are the values of a kind that no server is asked for; known is false for any other kind.
func (t *typed) fixedValues(kind, last string, live func(kind string) []candidate) (found []candidate, known bool) {
	switch kind {
	case "ORDER":
		return t.orderValues(), true
	case "COLUMN":
		return listValues(last, columnNames()), true
	case "FIELD=VALUE":
		return filterValues(last, live), true
	case "KEY":
		return keyValues(last, live), true
	}
	if words := fixedWords[kind]; words != nil {
		return words(), true
	}
	return nil, false
}

// fixedWords are the words of kinds that never change.
var fixedWords = map[string]func() []candidate{
	"STATE": func() []candidate {
		return append(textsAs(fleet.Connections(), "connection"), textsAs(fleet.Configurations(), "configuration")...)
	},
	"CONNECTION":    func() []candidate { return textsAs(fleet.Connections(), "") },
	"CONFIGURATION": func() []candidate { return textsAs(fleet.Configurations(), "") },
	"FOLDER-STATE": func() (found []candidate) {
		for _, state := range fleet.FolderStates() {
			found = append(found, candidate{word: state.String(), help: folderWords(state.String())})
		}
		return found
	},
	"CAUSE": func() []candidate {
		return textsAs(append(slices.Clone(view.WaitsBesides), fleet.WaitCauses...), "")
	},
	"MODE": func() []candidate {
		return []candidate{{"on", "plan and write"}, {"observe", "observe only: plan, never write"},
			{"paused", "not watched: neither read nor write"}}
	},
	"WAY":  func() []candidate { return textsAs([]string{"auto", "agent", "direct"}, "") },
	"KIND": func() []candidate { return textsAs(logKinds, "") },

	"PROBLEM":      func() []candidate { return textsAs(fleet.ToldKinds, "") },
	"CHANNEL-TYPE": func() []candidate { return textsAs(fleet.ChannelTypes, "") },
}

// logKinds are the kinds of entries of the event log.
var logKinds = []string{"connection", "configuration", "revision", "folder", "conflict", "peers", "order"}

func textsAs[K ~string](values []K, help string) []candidate {
	found := make([]candidate, len(values))
	for i, value := range values {
		found[i] = candidate{string(value), help}
	}
	return found
}

// orderValues are the orders of the command that is typed, in both directions.
func (t *typed) orderValues() (found []candidate) {
	if !t.node.Target.IsValid() || !t.node.Target.CanAddr() {
		return nil
	}
	command, sorts := t.node.Target.Addr().Interface().(ordered)
	if !sorts {
		return nil
	}
	names := command.orders()
	for _, name := range names {
		found = append(found, candidate{word: name})
	}
	for _, name := range names {
		found = append(found, candidate{"-" + name, "the other way round"})
	}
	return found
}

// listValues are values behind the comma of a list.
func listValues(last string, names []string) (found []candidate) {
	before := last[:strings.LastIndexByte(last, ',')+1]
	for _, name := range names {
		found = append(found, candidate{word: before + name})
	}
	return found
}

// filterKinds are the kinds of the values of --filter, by field.
var filterKinds = map[string]string{"tag": "TAG", "state": "STATE", "folder-state": "FOLDER-STATE",
	"version": "VERSION", "os": "OS", "waiting": "CAUSE", "search": "", "stale": "", "disk-below": "",
	"older-than": "VERSION"}

// filterValues are the fields of --filter, or the values of the field that was typed.
func filterValues(last string, live func(kind string) []candidate) (found []candidate) {
	field, _, hasValue := strings.Cut(last, "=")
	if !hasValue {
		for _, name := range slices.Sorted(maps.Keys(filterFields)) {
			found = append(found, candidate{word: name + "="})
		}
		return append(found, candidate{"behind", "something is missing of a folder"},
			candidate{"stopped", "the daemon stopped a folder"},
			candidate{"outdated", "devices run a newer version of Syncthing"})
	}
	kind := filterKinds[field]
	values := live(kind)
	if words := fixedWords[kind]; words != nil {
		values = words()
	}
	for _, value := range values {
		found = append(found, candidate{field + "=" + value.word, value.help})
	}
	return found
}

// keyValues are the keys that begin as typed, to the next dot. A key that goes on ends with a dot.
func keyValues(last string, live func(kind string) []candidate) (found []candidate) {
	dot := strings.LastIndexByte(last, '.')
	at, err := stconfig.ParseKey(last[:max(dot, 0)])
	if err != nil {
		return nil
	}
	below := stconfig.BelowOf(at)
	for _, name := range below.Names {
		found = append(found, keyCandidate(at.Child(name), ""))
	}
	if !below.Members {
		return found
	}
	kind := "FOLDER"
	if below.Devices {
		kind = "DEVICE-ID"
	}
	for _, member := range live(kind) {
		found = append(found, keyCandidate(at.Child(member.word), member.help))
	}
	return append(found, candidate{at.String() + ".*.", "each of them"})
}

func keyCandidate(key stconfig.Key, help string) candidate {
	if stconfig.HasParts(key) {
		return candidate{key.String() + ".", help}
	}
	return candidate{key.String(), help}
}

// inventoryCandidates are the values that devices have, as the filters take them.
func inventoryCandidates(counts func(api.InventoryCounts) map[string]int) lookup {
	return func(ctx context.Context, server *client.Client) (found []candidate, err error) {
		all, err := server.Inventory(ctx, client.InventoryQuery{Limit: 1})
		if err != nil {
			return nil, err
		}
		have := counts(all.Counts)
		for _, value := range slices.Sorted(maps.Keys(have)) {
			if value != "" {
				found = append(found, candidate{value, counted(have[value], "device")})
			}
		}
		return found, nil
	}
}

// deviceIDCandidates are the IDs of all devices, as keys name them.
func deviceIDCandidates(ctx context.Context, server *client.Client) (found []candidate, err error) {
	all, err := server.Devices(ctx, client.List{Mask: true})
	for _, d := range all {
		found = append(found, candidate{d.DeviceID, d.Label})
	}
	return found, err
}

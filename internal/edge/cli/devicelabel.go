package cli

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// labelled are the devices with exactly this label, except the one with an ID.
func labelled(all []api.Device, label, except string) (named []api.Device) {
	for _, d := range all {
		if d.Label == label && d.DeviceID != except {
			named = append(named, d)
		}
	}
	return named
}

// agreedLabel is an error unless no other device has the label, or the person wants a second one: a label that two
// devices have names neither of them in commands. With --yes the person is told.
func (a asking) agreedLabel(ctx context.Context, env *environment, server *client.Client, label, id string) error {
	if label == "" {
		return nil
	}
	same, err := sameLabel(ctx, server, label, id)
	switch {
	case err != nil && !a.Yes:
		return err
	case same == "":
		return nil
	case a.Yes:
		fmt.Fprintln(env.Err, "Warning:", same)
		return nil
	}
	return confirm(env, fmt.Sprintf("%s Give it to %s, too?", same, fleet.DeviceID(id).Short()))
}

// sameLabel is a sentence about another device that has the label, "" where none does.
func sameLabel(ctx context.Context, server *client.Client, label, id string) (string, error) {
	all, err := server.Devices(ctx, client.List{Mask: true, Search: label})
	if err != nil {
		return "", err
	}
	others := labelled(all, label, id)
	if label == "" || len(others) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s has the label %q already, so commands could not tell the two apart by it.",
		fleet.DeviceID(others[0].DeviceID).Short(), printable(label)), nil
}

// freeLabel is the name, or the name with the first number that makes it a label of no device.
func freeLabel(ctx context.Context, server *client.Client, name string) (string, error) {
	all, err := server.Devices(ctx, client.List{Mask: true, Search: name})
	taken := make([]string, len(all))
	for i, d := range all {
		taken[i] = d.Label
	}
	return fleet.FreeLabel(name, taken), err
}

// wordsFor makes the word by which commands take one of all devices: its label where that means no other device, else
// its ID.
func wordsFor(all []api.Device) func(label, id string) string {
	carriers := map[string]int{}
	for _, d := range all {
		carriers[d.Label]++
	}
	return func(label, id string) string {
		if carriers[label] == 1 && isWord(label) {
			return label
		}
		return id
	}
}

// isWord reports whether a command line takes a label as it is printed. A label that begins with a hyphen is taken for
// a flag, and one that is the ID of another device means that device.
func isWord(label string) bool {
	_, noID := fleet.ParseDeviceID(label)
	return noID != nil && strings.TrimSpace(label) != "" && !strings.HasPrefix(label, "-") && printable(label) == label
}

// isBare reports whether an unquoted shell substitution, as $(muster device list -o name), gives a text as one word.
func isBare(text string) bool {
	return text != "" && !strings.HasPrefix(text, "-") && printable(text) == text && !strings.ContainsFunc(text,
		func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`\*?['"`, r) })
}

// wordsByLabel makes the word by which commands take one of all things of a kind: its label where that is one word and
// means no other thing, else its ID.
func wordsByLabel[T any](all []T, label, id func(T) string) func(T) string {
	carriers := map[string]int{}
	for _, one := range all {
		carriers[label(one)]++
	}
	return func(one T) string {
		if label := label(one); carriers[label] == 1 && isBare(label) {
			return label
		}
		return id(one)
	}
}

// deviceCandidates are all devices as completion offers them.
func deviceCandidates(ctx context.Context, server *client.Client) (found []candidate, err error) {
	all, err := server.Devices(ctx, client.List{Mask: true})
	word := wordsFor(all)
	for _, d := range all {
		found = append(found, candidate{word(d.Label, d.DeviceID), d.DeviceID})
	}
	return found, err
}

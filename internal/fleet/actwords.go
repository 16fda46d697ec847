package fleet

import (
	"strconv"
	"strings"
)

// actVerbs say what was done to the subject of an audit entry.
var actVerbs = map[string]string{
	"create": "created", "replace": "changed", "delete": "deleted", "restore": "restored", "tag": "tagged",
	"untag": "untagged", "label": "renamed", "settings": "given other settings", "vars": "given other vars",
	"revoke": "revoked", "renew": "renewed", "trust": "given another certificate", "pinned": "pinned",
	"agent": "given other settings by the agent", "apply": "applied to", "test": "tested", "mode": "given another mode",
	"protect": "protected", "unprotect": "no longer protected", "quietAfter": "given another time to be away",
	"rescan": "told to scan", "restart": "told to start anew", "pause": "paused", "resume": "resumed",
	"upgrade": "told to upgrade", "override": "told to override", "revert": "told to revert", "accept": "let in",
	"reject": "rejected", "dismiss": "dismissed",
	"forget": "forgotten", "manage": "managed", "rotate": "rotated", "role": "given another role",
	"scope": "limited to another part of the fleet", "password": "given another password", "enable": "enabled",
	"disable": "disabled", "put": "stored", "reset": "reset", "begin": "begun", "undo": "undone", "halt": "halted",
	"approve": "approved", "consent": "consented to", "answer": "answered", "recipe": "made from a recipe",
}

// wholeActs are acts of which the verb alone does not tell.
var wholeActs = map[string][2]string{
	ChangeTitle:      {"fleet changed", "%d changes of the fleet"},
	"device.readKey": {"API key of a device read", "API keys of %d devices read"},
	"device.pause":   {"connections of a device paused", "connections of %d devices paused"},
	"device.resume":  {"connections of a device resumed", "connections of %d devices resumed"},
	"fleet.mode":     {"mode of the fleet changed", "mode of the fleet changed %d times"},
	"tag.pause":      {"connections of the devices with a tag paused", "connections of the devices with %d tags paused"},
	"tag.resume":     {"connections of the devices with a tag resumed", "connections of the devices with %d tags resumed"},
}

// ActInWords says what n entries of the audit with the same What record: "device created", "2,000 devices created".
func ActInWords(what string, n int) string {
	if words, ok := wholeActs[what]; ok {
		if n == 1 {
			return words[0]
		}
		return strings.Replace(words[1], "%d", withSeparators(n), 1)
	}
	noun, verb, _ := strings.Cut(what, ".")
	if known, ok := actVerbs[verb]; ok {
		verb = known
	}
	if n > 1 {
		noun = withSeparators(n) + " " + pluralNoun(noun)
	}
	return strings.TrimSpace(noun + " " + verb)
}

func pluralNoun(noun string) string {
	switch {
	case noun == "pending":
		return "requests"
	case strings.HasSuffix(noun, "s"):
		return noun
	}
	return noun + "s"
}

// withSeparators writes a number as people read it: 2,000.
func withSeparators(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

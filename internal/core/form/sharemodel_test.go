package form_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"muster/internal/core/form"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// Texts and tags that have broken quoting somewhere before.
var (
	texts = []string{"team", "Team \"A\"", `C:\Work\new`, "a.b", "*", "ünïcode \u2028", "<&>", "'", " = ", "# ---", "$x",
		"\U0001F600", "PATHS = {}", `\u0041`, "\ufffd", "False"}
	tags = []fleet.Tag{"team", "hub", "site:berlin", `quo"te`, "ü", "a, b", "\\", "everyone"}
)

func stored(w form.Written) fleet.TaggedTemplate {
	return fleet.TaggedTemplate{Template: fleet.Template{Op: w.Op, Key: w.Key, Text: w.Text}, Tags: slices.Clone(w.Tags)}
}

func randomShare(r *rand.Rand) form.Share {
	s := form.Share{Folder: one(r, texts), Label: one(r, texts), Paths: map[string]string{}}
	for _, system := range append([]string{""}, form.Systems...) {
		if r.IntN(4) == 0 {
			s.Paths[system] = one(r, []string{"~/team", `D:\Team`, "~/{team}", "{a}/{b}/{a}", `~/"x" \\é`})
		}
	}
	if len(s.Paths) == 0 {
		s.Paths[""] = "~/team"
	}
	s.Encrypted, s.ReceiveOnly, s.SendOnly, s.SendReceive = some(r, tags), some(r, tags), some(r, tags), some(r, tags)
	if len(s.Tags()) == 0 {
		s.SendReceive = []fleet.Tag{one(r, tags)}
	}
	if len(s.Encrypted) > 0 {
		s.Secret = one(r, []string{"password", `pass "word"`})
	}
	s.Hubs = some(r, tags)
	if r.IntN(2) == 0 {
		s.Versioning = one(r, []*form.Versioning{{Type: "trashcan", Params: map[string]string{"cleanoutDays": "30"}},
			{Type: "simple", Params: map[string]string{"keep": "5", "cleanoutDays": "0"}}, {Type: "staggered"}})
	}
	if r.IntN(2) == 0 {
		s.Ignores = []string{one(r, texts), "(?d).DS_Store"}
	}
	s.KeepFreePercent = one(r, []int{0, 0, 1, 99})
	return s
}

func one[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// some returns no tags in half of the cases, else one to three.
func some(r *rand.Rand, all []fleet.Tag) (chosen []fleet.Tag) {
	if r.IntN(2) == 0 {
		return nil
	}
	for range 1 + r.IntN(3) {
		chosen = append(chosen, one(r, all))
	}
	return chosen
}

func randomDevices(r *rand.Rand) []template.Facts {
	devices := make([]template.Facts, 1+r.IntN(8))
	for i := range devices {
		own := some(r, tags)
		slices.Sort(own)
		vars := fleet.Vars(`{"team":"x {a}"}`)
		if r.IntN(2) == 0 {
			vars = `{"team":7,"a":"{b}","b":"B"}`
		}
		devices[i] = template.Facts{DeviceID: fleet.DeviceIDOf([32]byte{byte(i), byte(r.Uint32())}),
			Tags: slices.Compact(own), OS: one(r, []string{"windows", "linux", "darwin", ""}), Vars: vars}
	}
	return devices
}

// roleOf reads the roles in their order of precedence.
func roleOf(s form.Share, d template.Facts) string {
	for _, role := range []struct {
		kind string
		tags []fleet.Tag
	}{{"receiveencrypted", s.Encrypted}, {"receiveonly", s.ReceiveOnly}, {"sendonly", s.SendOnly},
		{"sendreceive", s.SendReceive}} {
		if hasOneOf(d, role.tags) {
			return role.kind
		}
	}
	return ""
}

func hasOneOf(d template.Facts, tags []fleet.Tag) bool {
	return slices.ContainsFunc(d.Tags, func(tag fleet.Tag) bool { return slices.Contains(tags, tag) })
}

// wanted is what a device gets, or a part of the error with which the program ends.
func wanted(s form.Share, d template.Facts, all []template.Facts) (stconfig.Value, string) {
	own := roleOf(s, d)
	if own == "" {
		return stconfig.Value{}, "no tag that the form gives a role"
	}
	path, problem := pathOf(s, d)
	if problem != "" {
		return stconfig.Value{}, problem
	}
	peers := []stconfig.Value{}
	slices.SortFunc(all, func(a, b template.Facts) int { return strings.Compare(string(a.DeviceID), string(b.DeviceID)) })
	for _, other := range all {
		role := roleOf(s, other)
		apart := len(s.Hubs) > 0 && !hasOneOf(d, s.Hubs) && !hasOneOf(other, s.Hubs) && other.DeviceID != d.DeviceID
		if role == "" || apart {
			continue
		}
		peer := stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(other.DeviceID))})
		if role == "receiveencrypted" && own != role {
			peer = peer.With("encryptionPassword", stconfig.SecretHandle("secret:"+s.Secret))
		}
		peers = append(peers, peer)
	}
	folder := valueOf(map[string]any{"label": s.Label, "path": path, "type": own}).With("devices", stconfig.List(peers...))
	if s.Versioning != nil {
		folder = folder.With("versioning", valueOf(s.Versioning))
	}
	if s.KeepFreePercent > 0 {
		folder = folder.With("minDiskFree", valueOf(map[string]any{"value": s.KeepFreePercent, "unit": "%"}))
	}
	if len(s.Ignores) == 0 {
		return folder, ""
	}
	whole := stconfig.Obj(stconfig.Member{Name: "folders",
		Value: stconfig.List(folder.With("id", stconfig.Text(s.Folder)))})
	if own != "receiveencrypted" {
		whole = whole.With("ignores", valueOf(map[string]any{s.Folder: s.Ignores}))
	}
	return whole, ""
}

func pathOf(s form.Share, d template.Facts) (path, problem string) {
	other, hasOther := s.Paths[""]
	path, hasOwn := s.Paths[d.OS]
	switch {
	case d.OS == "" && (len(s.Paths) > 1 || !hasOther):
		return "", "never seen"
	case !hasOwn && !hasOther:
		return "", "no path for"
	case !hasOwn:
		path = other
	}
	var vars map[string]any
	if err := json.Unmarshal([]byte(d.Vars), &vars); err != nil {
		panic(err)
	}
	var values []string
	for _, name := range []string{"a", "b", "team"} {
		place := "{" + name + "}"
		if strings.Contains(path, place) && vars[name] == nil {
			return "", name
		}
		values = append(values, place, fmt.Sprint(vars[name]))
	}
	return strings.NewReplacer(values...).Replace(path), ""
}

func valueOf(v any) stconfig.Value {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	value, err := stconfig.Parse(text)
	if err != nil {
		panic(err)
	}
	return value
}

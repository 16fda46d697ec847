package httpapi

import (
	"slices"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// TestTheClientSpeaksTheAPI goes through every method of the client against the server over a real connection.
func TestTheClientSpeaksTheAPI(t *testing.T) {
	w := newWorld(t)
	c, err := client.New(w.listen(t).URL, w.tokens[fleet.RoleAdmin])
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	check := func(what string, err error, ok bool) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: %t, %v", what, ok, err)
		}
	}
	id := string(idA)
	const tag = "a/b %2F ü"

	device, created, err := c.PutDevice(ctx, id, api.PutDevice{APIKey: new("k"), Label: new("one")}, client.IfAbsent())
	check("create device", err, created && device.DeviceID == id && device.Label == "one")
	_, _, err = c.PutDevice(ctx, id, api.PutDevice{}, client.IfAbsent())
	check("create it again", nil, fleet.CodeOf(err) == fleet.CodePrecondition)
	_, etag, err := c.DeviceETag(ctx, id)
	check("read with ETag", err, etag != "")
	device, created, err = c.PutDevice(ctx, id, api.PutDevice{Label: new("two"), APIPort: new(int64(9000))},
		client.IfMatch(etag))
	check("replace device", err, !created && device.APIPort == 9000)
	got, err := c.Device(ctx, id)
	check("device", err, got == device)
	_, _, err = c.PutDevice(ctx, string(idB), api.PutDevice{APIKey: new("k")})
	check("another device", err, true)
	devices, err := c.Devices(ctx, client.List{Page: 1})
	check("devices by page", err, len(devices) == 2)
	devices, err = c.Devices(ctx, client.List{Search: "TWO"})
	check("devices found", err, len(devices) == 1 && devices[0].DeviceID == id)

	tags, err := c.TagDevice(ctx, id, tag)
	check("tag device", err, slices.Equal(tags, []string{tag}))
	tags, err = c.DeviceTags(ctx, id)
	check("device tags", err, slices.Equal(tags, []string{tag}))
	devices, err = c.TagDevices(ctx, tag, client.List{})
	check("tag devices", err, len(devices) == 1)
	devices, err = c.Devices(ctx, client.List{Tag: tag})
	check("devices by tag", err, len(devices) == 1)

	template, err := c.CreateTemplate(ctx, api.PutTemplate{Op: new("set"), Key: new("options"), Template: new("{}"),
		Priority: new(int64(1<<63 - 1))})
	check("create template", err, template.ID == 1 && template.Priority == 1<<63-1)
	_, etag, err = c.TemplateETag(ctx, 1)
	check("template with ETag", err, etag != "")
	template, err = c.PutTemplate(ctx, 1, api.PutTemplate{Op: new("Merge"), Key: new(""), Template: new("{}")},
		client.IfMatch(etag))
	check("put template", err, template.Op == "merge")
	same, err := c.Template(ctx, 1)
	check("template", err, same == template)
	tags, err = c.TagTemplate(ctx, 1, tag)
	check("tag template", err, slices.Equal(tags, []string{tag}))
	tags, err = c.TemplateTags(ctx, 1)
	check("template tags", err, slices.Equal(tags, []string{tag}))
	templates, err := c.TagTemplates(ctx, tag, client.List{})
	check("tag templates", err, len(templates) == 1)
	templates, err = c.Templates(ctx, client.List{})
	check("templates", err, len(templates) == 1)

	w.fakes.evaluate = func(_ fleet.TaggedTemplate, device fleet.DeviceID) (Evaluation, error) {
		return Evaluation{Device: device, Language: "hjson", Value: stconfig.List()}, nil
	}
	evaluation, err := c.EvaluateTemplate(ctx, 1, "")
	check("evaluate", err, string(evaluation.Value) == "[]")
	evaluation, err = c.EvaluateNewTemplate(ctx, api.EvaluateTemplate{Template: new("[]")}, id)
	check("evaluate a new one", err, evaluation.DeviceID == id)

	w.fakes.status = map[fleet.DeviceID]fleet.Status{idA: {MyID: idA, UpdatedAt: then}}
	w.fakes.version = map[fleet.DeviceID]fleet.Version{idA: {OS: "linux"}}
	w.fakes.states = map[fleet.DeviceID]fleet.State{idA: {Connection: fleet.Online, LastSeen: then}, idB: {}}
	w.fakes.plans = map[fleet.DeviceID]plan.Plan{idA: {Digest: "d"}}
	w.fakes.config = map[fleet.DeviceID]stconfig.Value{idA: stconfig.Obj()}
	w.fakes.folders = []fleet.FolderLabel{{Folder: tag}}
	w.fakes.summaries = map[string][]fleet.FolderSummary{tag: {{Device: idA}}}
	status, err := c.DeviceStatus(ctx, id)
	check("status", err, status.MyID == id && status.UpdatedAt.Equal(then))
	version, err := c.DeviceVersion(ctx, id)
	check("version", err, version.OS == "linux")
	state, err := c.DeviceState(ctx, id)
	check("state", err, state.Connection == "online" && state.LastSeen.Equal(then) && state.Since == nil)
	states, err := c.States(ctx, client.List{Page: 1})
	check("states", err, len(states) == 2)
	made, err := c.DevicePlan(ctx, id)
	check("plan", err, made.Digest == "d" && made.Changes != nil)
	config, err := c.DeviceConfig(ctx, id)
	check("config", err, string(config) == "{}")
	folders, err := c.Folders(ctx, client.List{})
	check("folders", err, len(folders) == 1)
	summaries, err := c.FolderSummaries(ctx, tag)
	check("summaries", err, len(summaries) == 1 && summaries[0].Device == id)

	stored, err := c.PutDeviceSettings(ctx, id, api.PutDeviceSettings{Mode: new("observe")})
	check("put settings", err, stored.Mode == "observe" && stored.Warning == "")
	settings, err := c.DeviceSettings(ctx, id)
	check("settings", err, settings.Mode == "observe")
	check("put tag mode", c.PutTagMode(ctx, tag, "paused"), true)
	mode, err := c.TagMode(ctx, tag)
	check("tag mode", err, mode == "paused")
	check("put mode", c.PutMode(ctx, "observe"), true)
	mode, err = c.Mode(ctx)
	check("mode", err, mode == "observe")

	token, err := c.CreateToken(ctx, tag, "viewer")
	check("create token", err, token.Secret != "" && token.Name == tag)
	viewer, err := client.New(w.listen(t).URL, token.Secret)
	check("viewer", err, true)
	shown, err := viewer.Device(ctx, id)
	check("as a viewer", err, shown.APIKey == "<API_KEY>")
	check("not as a viewer", nil, fleet.CodeOf(viewer.DeleteDevice(ctx, id)) == fleet.CodeForbidden)
	tokens, err := c.Tokens(ctx)
	check("tokens", err, len(tokens) == 5)
	check("delete token", c.DeleteToken(ctx, tag), true)
	check("ready", c.Ready(ctx), true)
	document, err := c.OpenAPI(ctx)
	check("document", err, len(document) > 1000)

	tags, err = c.UntagDevice(ctx, id, tag)
	check("untag device", err, len(tags) == 0)
	tags, err = c.Tags(ctx, client.List{})
	check("tags", err, slices.Equal(tags, []string{tag}))
	tags, err = c.UntagTemplate(ctx, 1, "none")
	check("untag template", err, slices.Equal(tags, []string{tag}))
	tags, err = c.DeleteTag(ctx, tag)
	check("delete tag", err, len(tags) == 0)
	check("delete template", c.DeleteTemplate(ctx, 1), true)
	check("delete device", c.DeleteDevice(ctx, id), true)
	check("delete it again", nil, fleet.CodeOf(c.DeleteDevice(ctx, id)) == fleet.CodeNotFound)
}

package store

import (
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// These are the tables whose rows have marks. A new table with marks needs an entry here and in markedTables, and a
// column mark in its migration. A test fails for a table that is neither in markedTables nor in unmarkedTables.
var (
	protectedRows = &markedTable{name: "protected_tags", noun: "the protected tag", key: []string{"tag"},
		follows: "it is protected", missing: "each tag that a device or template has is protected", doubt: doubtProtected}
	rootRows = &markedTable{
		name:    "folder_roots",
		accept:  "DELETE FROM folder_roots",
		noun:    "the folder root",
		key:     []string{"tag", "path"},
		follows: "it does not count",
		doubt:   doubtRoot,
	}
	authorKeyRows = &markedTable{
		name:    "author_keys",
		accept:  "DELETE FROM author_keys",
		noun:    "the author key",
		key:     []string{"tag", "key"},
		follows: "it does not count",
		doubt:   doubtAuthorKey,
	}
	tagModeRows = &markedTable{name: "tag_modes", noun: "the mode of the tag", key: []string{"tag"},
		content: []string{"mode"}, follows: "nothing is written to its devices", missing: nothingWritten,
		doubt: doubtTagMode}
	metaRows = &markedTable{name: "meta", noun: "the setting", key: []string{"name"}, content: []string{"value"},
		only:    "name IN ('fleet_mode', 'settled_generation', 'restored', 'rules', 'single_sign_on')",
		follows: nothingWritten, missing: nothingWritten + ", and single sign-on is off", doubt: doubtMeta}
	deviceModeRows = &markedTable{
		name:    "devices",
		noun:    "the label or the settings of the device",
		key:     []string{"id"},
		content: []string{"label", "mode", "may_restart?"},
		later:   map[string]int64{"label": 112}, // Templates read the label.
		follows: "nothing is written to it",
		missing: nothingWritten,
		doubt:   doubtDeviceRow,
	}
	deviceTagRows = &markedTable{name: "device_tags", noun: "the tag of the device", key: []string{"device_id", "tag"},
		goes: "device_id", follows: "nothing is written to the device", missing: nothingWritten, doubt: doubtDevice}
	templateRows = &markedTable{name: "templates", accept: nobodySaved("templates"), noun: "template", key: []string{"id"},
		content: []string{"label", "priority", "op", "key", "text", "reads", "saved_by", "saved_role", "created_at"},
		follows: "it counts as saved by an author", missing: "all templates count as saved by an author, and " +
			nothingWritten, doubt: doubtTemplateRow}
	templateTagRows = &markedTable{name: "template_tags", noun: "the tag of the template",
		key:     []string{"template_id", "tag"},
		follows: "the tag does not count, and the template counts as saved by an author", missing: nothingWritten,
		doubt: doubtTemplateTag}
	deviceVarsRows = &markedTable{
		name:    "device_vars",
		accept:  nobodySaved("device_vars"),
		noun:    "the vars of the device",
		key:     []string{"device_id"},
		content: []string{"vars", "saved_by", "saved_role"},
		goes:    "device_id",
		follows: "they count as saved by an author",
		missing: "all count as saved by an author, and " + nothingWritten,
		doubt:   doubtDeviceVars,
	}
	tagVarsRows = &markedTable{
		name:    "tag_vars",
		accept:  nobodySaved("tag_vars"),
		noun:    "the vars of the tag",
		key:     []string{"tag"},
		content: []string{"vars", "saved_by", "saved_role"},
		follows: "they count as saved by an author",
		missing: "all count as saved by an author, and " + nothingWritten,
		doubt:   doubtTagVars,
	}
	sourceRows = &markedTable{name: "sources", noun: "the source", key: []string{"name"},
		content: []string{"read_only?", "assertions"}, follows: "its templates are changed by its files alone",
		missing: "templates of sources are changed by their files alone, and " + nothingWritten, doubt: doubtSource}

	// A forged setting must not lower a guard: no approval, shorter waves, an audit that is deleted.
	settingRows = &markedTable{name: "settings", accept: "DELETE FROM settings", noun: "the server's setting",
		key: []string{"name"}, content: []string{"value", "set_by", "set_at"},
		follows: "the default or a stricter value holds", missing: "for each the default or a stricter value holds",
		doubt: doubtSetting}

	// A forged sink would send what Muster records to a stranger.
	sinkRows = &markedTable{name: "sinks", accept: "DELETE FROM sinks", noun: "the sink", key: []string{"name"},
		content: []string{"body", "saved_by", "saved_at"}, follows: "nothing is sent to it",
		doubt: doubtSink}

	// A forged revocation would take a device out of the fleet. A removed one would let a revoked device back in.
	revocationRows = &markedTable{name: "revocations", noun: "the revocation of the device", key: []string{"device_id"},
		content: []string{"label", "reason", "revoked_by", "revoked_at"}, follows: nothingWritten,
		missing: nothingWritten, doubt: doubtMeta}

	// A forged proof would tell an auditor that a stolen device is gone from a daemon that still has it.
	revocationProofRows = &markedTable{
		name:    "revocation_proofs",
		noun:    "what is proven about the revoked device",
		key:     []string{"revoked_id", "device_id"},
		content: []string{"config_at", "digest", "connections_at", "returns", "returned_at"},
		goes:    "device_id",
		follows: "it proves nothing",
	}

	certificateRows = &markedTable{name: "certificates", noun: "the certificate of the device", key: []string{"device_id"},
		content: []string{"fingerprint", "not_before", "not_after"}, goes: "device_id", follows: "it is not shown"}
	consentRows = &markedTable{name: "consents", accept: "DELETE FROM consents", noun: "consent", key: []string{"id"},
		content: []string{"device_id", "key", "answer", "change", "group_id", "given_by", "given_at", "until",
			"unreachable_since", "closed_at", "intent_id"}, goes: "device_id", follows: "it lets nothing out"}
	groupConsentRows = &markedTable{
		name:    "group_consents",
		accept:  "DELETE FROM group_consents",
		noun:    "the consent for a rollout",
		key:     []string{"id"},
		content: []string{"rollout_id", "key", "change", "answer", "removals?", "given_by", "given_at"},
		follows: "it lets nothing out",
	}
	rolloutRows = &markedTable{name: "rollouts", noun: "rollout", key: []string{"id"},
		content: []string{"generation", "status", "body", "created_at"},
		follows: "it is paused, and nobody has approved it", missing: "all are paused, and nobody has approved them"}
	memberRows = &markedTable{
		name: "rollout_members",
		noun: "the member of the rollout",
		key:  []string{"rollout_id", "device_id"},
		content: []string{"position", "wave", "was", "errors", "held", "from_generation", "waived?",
			"superseded?"}, // superseded must be the last; see supersede
		goes:    "device_id",
		follows: "nothing is written to the device",
		missing: nothingWritten,
		doubt:   doubtMember,
	}
	holdRows = &markedTable{name: "holds", noun: "what the rollout holds back from the device", key: []string{"device_id"},
		content: []string{"generation", "rollout_id"}, goes: "device_id", follows: "nothing is written to the device",
		missing: nothingWritten, doubt: doubtDevice}
	originRows = &markedTable{name: "template_origins", noun: "the file of the template", key: []string{"template_id"},
		content: []string{"source", "name"}, follows: "the template counts as saved by an author",
		missing: "all templates count as saved by an author", doubt: doubtTemplate}

	// A forged base entry has a plan take a person's folder for the authors' own, another value for the one to go back to,
	// or an author's member for an admin's. A missing path lets an author put a folder where links may lead elsewhere.
	baseRows = &markedTable{
		name: "base_entries",
		noun: "what Muster remembers of the key of the device",
		key:  []string{"device_id", "key"},
		content: []string{"kind", "base", "written", "intended", "earlier", "sent", "version", "templates", "state", "run",
			"implied?", "by_admin?", "revoked"}, // see baseContent
		goes:    "device_id",
		follows: "nothing is written to the device",
		missing: nothingWritten,
		large:   true,
		doubt:   doubtDevice,
	}
	folderPathRows = &markedTable{name: "folder_paths", noun: "the path of an earlier folder of the device",
		key: []string{"device_id", "path"}, goes: "device_id", follows: foldersWait, missing: foldersWait}

	// A device that its agent proved gets no API key at an address without a pin.
	sightingRows = &markedTable{name: "sightings", noun: "how Muster found the device", key: []string{"device_id"},
		content: []string{"found_by"}, goes: "device_id", follows: "without a pin it is reached by its agent only",
		missing: "devices without a pin are reached by their agents only"}

	// A missing row would let a gate of a rollout overlook a device to which Muster has sent something.
	sentRows = &markedTable{name: "sent_generations", noun: "for which generation Muster wrote to the device",
		key: []string{"device_id"}, content: []string{"generation", "earlier"}, goes: "device_id",
		follows: "gates of rollouts count it as written to",
		missing: "gates of rollouts count all devices as written to"}

	// The next tables hold what was registered at past generations. They have power because devices may be admitted to a
	// past generation, and because they show who made a template stop applying (see LetGoBy).
	generationRows = &markedTable{
		name:    "generations",
		accept:  "UPDATE generations SET made_role = '', made_by_person = ''",
		noun:    "generation",
		key:     []string{"number"},
		content: []string{"cause", "made_by", "made_role", "created_at", "made_by_person"},
		later:   map[string]int64{"made_by_person": 116},
		follows: nothingWritten,
		missing: nothingWritten,
		doubt:   doubtPast,
	}
	templateHistoryRows = &markedTable{
		name:   "template_history",
		accept: nobodySaved("template_history"),
		noun:   "the past template",
		key:    []string{"template_id", "generation"},
		content: []string{"deleted?", "label", "priority", "op", "key", "text", "reads", "saved_by", "saved_role",
			"created_at", "updated_at"},
		follows: nothingWritten,
		missing: nothingWritten,
		doubt:   doubtPast,
	}
	templateTagHistoryRows = &markedTable{name: "template_tag_history", noun: "the past tag of the template",
		key: []string{"template_id", "tag", "generation"}, content: []string{"carried?"},
		follows: nothingWritten, missing: nothingWritten, doubt: doubtPast}
	deviceTagHistoryRows = &markedTable{name: "device_tag_history", noun: "the past tag of the device",
		key: []string{"device_id", "tag", "generation"}, content: []string{"carried?"}, goes: "device_id",
		follows: nothingWritten, missing: nothingWritten, doubt: doubtPast}
	deviceVarsHistoryRows = &markedTable{
		name:    "device_vars_history",
		accept:  nobodySaved("device_vars_history"),
		noun:    "the past vars of the device",
		key:     []string{"device_id", "generation"},
		content: []string{"vars", "saved_by", "saved_role"},
		goes:    "device_id",
		follows: nothingWritten,
		missing: nothingWritten,
		doubt:   doubtPast,
	}
	tagVarsHistoryRows = &markedTable{
		name:    "tag_vars_history",
		accept:  nobodySaved("tag_vars_history"),
		noun:    "the past vars of the tag",
		key:     []string{"tag", "generation"},
		content: []string{"vars", "saved_by", "saved_role"},
		follows: nothingWritten,
		missing: nothingWritten,
		doubt:   doubtPast,
	}
)

// Consequences of doubts about several tables or in both ways, as texts for people.
const (
	nothingWritten = "nothing is written to daemons"
	foldersWait    = "folders of authors wait for an admin"
)

// nobodySaved returns SQL that clears the role of the person who saved a row of the table. Without a role, the row
// counts as saved by an author and gives no more power than an author has.
func nobodySaved(table string) string { return "UPDATE " + table + " SET saved_role = ''" }

// markedTables lists all tables with marks.
var markedTables = []*markedTable{
	protectedRows, rootRows, authorKeyRows, tagModeRows, metaRows, deviceModeRows, deviceTagRows, templateRows,
	templateTagRows, deviceVarsRows, tagVarsRows, sourceRows, certificateRows, consentRows, groupConsentRows, rolloutRows,
	generationRows, templateHistoryRows, templateTagHistoryRows, deviceTagHistoryRows, deviceVarsHistoryRows,
	tagVarsHistoryRows, memberRows, holdRows, originRows, revocationRows, revocationProofRows, baseRows, folderPathRows,
	sightingRows, sentRows, settingRows, sinkRows,
}

// growingTables lists the marked tables that get rows with each change or rollout, or with what daemons have. They
// are compared as a whole when the store is opened (see doubtsAtStart), and by `muster audit verify`. Readers compare
// each row that they read.
var growingTables = []*markedTable{
	consentRows, groupConsentRows, rolloutRows, memberRows, generationRows, templateHistoryRows, templateTagHistoryRows,
	deviceTagHistoryRows, deviceVarsHistoryRows, tagVarsHistoryRows, baseRows, folderPathRows, sentRows,
	revocationProofRows,
}

// loadedTables lists the other marked tables. A new connection compares them, in a time that does not depend on how
// many changes and rollouts there have been.
var loadedTables = slices.DeleteFunc(slices.Clone(markedTables), func(table *markedTable) bool {
	return slices.Contains(growingTables, table)
})

// unmarkedTables lists the tables whose rows have no mark, each with the reason.
var unmarkedTables = map[string]string{
	"tokens":               "a roster has them",
	"users":                "a roster has them",
	"secrets":              "a roster has them",
	"enroll_keys":          "a roster has them",
	"enrollment_decisions": "each has a proof",
	"sessions":             "a roster has them",
	"login_links":          "a roster has them",
	"proofs":               "they are proofs",
	"own_keys":             "each is sealed for its place and never changes",
	"audit":                "it is a chain",
	"audit_heads":          "each is signed",
	"tag_quiet":            "how long a device may be away gives no power",
	"used_sign_ons":        "an attempt is too old after minutes, and a provider's answer counts once there, too",
	"statuses":             "a daemon says it anew before anything is sent to it, so it gives no power",
	"versions":             "a daemon says it anew before anything is sent to it, so it gives no power",
	"folders":              "a daemon says it anew before anything is sent to it, so it gives no power",
	"summaries":            "what daemons said of their folders is only shown and gives no power",
	"revisions":            "the documents are sealed for their place; a restore is shown before it is done",
	"revision_bodies":      "each is sealed for its place; a restore is shown before it is done",
	"intents":              "what was sent is sealed for its place; gates of rollouts read sent_generations",
	"stops":                "they only keep Muster from writing",
	"orders":               "people are shown what was done and by whom; none is done again after a start",
	"problems":             "what people were told gives no power",
	"outbox":               "what people are told gives no power",
	"told_groups":          "what people were told gives no power",
	"deliveries":           "what people were told gives no power",
	"history":              "numbers of the fleet give no power",
	"folder_histories":     "which folders have figures gives no power",
	"folder_figures":       "numbers of folders give no power",
	"folder_proofs":        "each is sealed for its place and tells of its time; what is decided now is proven anew",
	"sink_cursors":         "how far a sink is gives no power; the numbers of entries show it what it did not get",
	"sink_refusals":        "what a sink refused is only shown and gives no power",
	"event_log":            "what happened gives no power; the audit is what is proven",
}

// Each function below is the doubt function of a markedTable. It removes from the contents the power of the row with
// this key, or of all rows of the table if key is nil.

func doubtProtected(c *contents, key []string) {
	if key != nil {
		return // A row that was added only protects one more tag. A missing row puts the whole table in doubt.
	}
	protect := func(tags []fleet.Tag) {
		for _, tag := range tags {
			c.protected[tag] = true
		}
	}
	for _, d := range c.devices {
		protect(d.Tags)
	}
	for _, v := range c.templates {
		protect(v.Tags)
	}
}

func doubtRoot(c *contents, key []string) {
	if key == nil {
		clear(c.roots)
		return
	}
	c.roots[fleet.Tag(key[0])] = leaveOut(c.roots[fleet.Tag(key[0])], key[1])
}

func doubtAuthorKey(c *contents, key []string) {
	if key == nil {
		clear(c.authorKeys)
		return
	}
	c.authorKeys[fleet.Tag(key[0])] = leaveOut(c.authorKeys[fleet.Tag(key[0])], key[1])
}

func leaveOut(all []string, one string) (left []string) {
	for _, other := range all {
		if other != one {
			left = append(left, other)
		}
	}
	return left
}

// doubtMeta keeps the whole fleet in mode observe. The rows in doubt decide the mode of the fleet, the generation to
// which devices are admitted, or which devices are revoked.
func doubtMeta(c *contents, _ []string) { c.observed = true }

func doubtPast(c *contents, _ []string) { doubtMeta(c, nil) }

func doubtTagMode(c *contents, key []string) {
	if key == nil {
		doubtMeta(c, nil)
		return
	}
	tag := fleet.Tag(key[0])
	c.tagModes[tag] = fleet.Strictest(c.tagModes[tag], fleet.ModeObserve)
}

// doubtDevice has a device observed until the next comparison of the tables. Neither a change of the device nor a
// person who resumes it ends that, because the row in doubt stays.
func doubtDevice(c *contents, key []string) {
	if key == nil {
		doubtMeta(c, nil)
		return
	}
	c.device(fleet.DeviceID(key[0]), func(r *fleet.Registered) { r.Doubted = true })
}

// doubtDeviceRow takes away the power of a device's own row, which a person gives it again by registering the device
// anew.
func doubtDeviceRow(c *contents, key []string) {
	if key == nil {
		doubtMeta(c, nil)
		return
	}
	c.device(fleet.DeviceID(key[0]), func(r *fleet.Registered) {
		r.Settings.Mode = fleet.Strictest(r.Settings.Mode, fleet.ModeObserve)
		r.Settings.Restart = false
	})
}

func doubtMember(c *contents, key []string) {
	if key != nil {
		key = key[1:]
	}
	doubtDevice(c, key)
}

// doubtTemplateRow takes away the power of a template's own row, which a person gives it again by saving it. Where a
// template may be missing, the whole fleet is observed: devices would lose what it gives them.
func doubtTemplateRow(c *contents, key []string) {
	if key == nil {
		doubtMeta(c, nil)
	}
	c.templatesOf(key, func(v *fleet.TaggedTemplate) { v.SavedRole = "" })
}

// doubtTemplate has a template count as saved by an author until the next comparison of the tables. Nobody who saves
// the template ends that, because the row in doubt stays.
func doubtTemplate(c *contents, key []string) {
	c.templatesOf(key, func(v *fleet.TaggedTemplate) { v.SavedRole, v.Doubted = "", true })
}

// doubtTemplateTag does what doubtTemplate does, and takes the tag off, so that the template reaches no device by it.
// Where any tag may be missing, the whole fleet is observed: devices would lose what that template gives them.
func doubtTemplateTag(c *contents, key []string) {
	doubtTemplate(c, key)
	if key == nil {
		doubtMeta(c, nil)
		return
	}
	c.templatesOf(key, func(v *fleet.TaggedTemplate) { v.Tags = dropTag(v.Tags, fleet.Tag(key[1])) })
}

// templatesOf changes the template whose ID is the first column of key, or all templates if key is nil.
func (c *contents) templatesOf(key []string, change func(*fleet.TaggedTemplate)) {
	for id := range c.templates {
		if key == nil || key[0] == strconv.FormatInt(id, 10) {
			c.template(id, change)
		}
	}
}

// doubtDeviceVars has the vars of a device count as saved by an author. Where the vars of a device may be missing, the
// whole fleet is observed: templates would give that device something else. The same goes for doubtTagVars.
func doubtDeviceVars(c *contents, key []string) {
	if key == nil {
		doubtMeta(c, nil)
	}
	for id := range c.devices {
		if key == nil || key[0] == string(id) {
			c.device(id, func(r *fleet.Registered) { r.Vars.SavedRole = "" })
		}
	}
}

func doubtTagVars(c *contents, key []string) {
	if key == nil {
		doubtMeta(c, nil)
	}
	for tag, saved := range c.tagVars {
		if key == nil || key[0] == string(tag) {
			saved.SavedRole = ""
			c.tagVars[tag] = saved
		}
	}
}

// doubtSource makes a source read-only. Where any source may be missing, the sources that the origins of templates name
// are read-only too, and the whole fleet is observed, because the assertions of the missing source are not known.
func doubtSource(c *contents, key []string) {
	if key == nil {
		doubtMeta(c, nil)
		for _, origin := range c.origins {
			if _, there := c.sources[origin.Source]; !there && origin.Source != "" {
				c.sources[origin.Source] = fleet.Source{}
			}
		}
	}
	for name, source := range c.sources {
		if key == nil || key[0] == name {
			source.ReadOnly = true
			c.sources[name] = source
		}
	}
}

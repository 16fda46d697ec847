package store

import (
	"slices"
	"testing"

	"muster/internal/fleet"
)

// wantTemplateTag checks the first template, to which another program gave the tag forged: whether the tag counts, and
// whether the template counts as saved by an admin.
func (m *meddled) wantTemplateTag(what string, counts, byAdmin bool) {
	m.t.Helper()
	r := must(m.Registry(m.t.Context()))(m.t)
	v := r.Templates[slices.IndexFunc(r.Templates, func(v fleet.TaggedTemplate) bool { return v.ID == 1 })]
	if has := slices.Contains(v.Tags, "forged"); has != counts {
		m.t.Errorf("%s, the template has the forged tag: %t", what, has)
	}
	if reaches := slices.ContainsFunc(r.TemplatesOf(deviceN(2).ID), func(v fleet.Template) bool {
		return v.ID == 1
	}); reaches != counts {
		m.t.Errorf("%s, the template reaches a device by the forged tag: %t", what, reaches)
	}
	if v.SavedByAdmin() != byAdmin {
		m.t.Errorf("%s, the template counts as saved by %q", what, v.SavedRole)
	}
}

// edit makes an edit as an admin.
func (m *meddled) edit(edit fleet.Edit) {
	m.t.Helper()
	ctx := fleet.WithRole(fleet.WithActor(m.t.Context(), "admin"), fleet.RoleAdmin)
	must(m.ApplyEdit(ctx, edit, fleet.Basis{}))(m.t)
}

func (m *meddled) withForgedTag() {
	m.t.Helper()
	m.edit(fleet.Edit{Tag: []fleet.Tagging{{Device: deviceN(2).ID, Tag: "forged"}}})
	m.exec(`INSERT INTO template_tags (template_id, tag) VALUES (1, 'forged')`)
}

// An admin who saved a template again, or gave it another tag, ended the doubt about a tag that another program had
// given it: the template reached devices by that tag, with the power of the admin.
func TestAChangeOfATemplateDoesNotBelieveItsForgedTag(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.withForgedTag()
		m.edit(fleet.Edit{Tag: []fleet.Tagging{{Template: 1, Tag: "while it runs"}}})
		m.wantTemplateTag("tagged while the server runs", false, true)
		if told := m.Tampering(); told == nil {
			t.Error("nobody is told of the forged tag")
		}
		m.restart(options)
		m.wantTemplateTag("after a start", false, false)
		save := func(change func(*fleet.Template)) fleet.Edit {
			v := fleet.Template{ID: 1, Label: "template 0", Op: fleet.OpSet, Key: "options.natEnabled", Text: "false\n",
				SavedBy: "admin", SavedRole: fleet.RoleAdmin}
			change(&v)
			return fleet.Edit{Changed: []fleet.Template{v}}
		}
		for what, edit := range map[string]fleet.Edit{
			"saved again":    save(func(*fleet.Template) {}),
			"with a label":   save(func(v *fleet.Template) { v.Label = "label" }),
			"with a text":    save(func(v *fleet.Template) { v.Text = "true\n" }),
			"with a tag":     {Tag: []fleet.Tagging{{Template: 1, Tag: "another"}}},
			"without a tag":  {Untag: []fleet.Tagging{{Template: 1, Tag: "another"}}},
			"of its devices": {Tag: []fleet.Tagging{{Device: deviceN(2).ID, Tag: "third"}}},
		} {
			m.edit(edit)
			m.wantTemplateTag(what, false, false)
			m.restart(options)
			m.wantTemplateTag(what+", and after a start", false, false)
			m.wantNamed(what, "template_tags")
		}
		must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		m.wantTemplateTag("accepted", true, true)
		m.wantIntact()
	})
}

// The person who gives a template the forged tag, or takes that off, has seen it.
func TestAForgedTagThatAPersonGivesOrTakesIsNotInDoubt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for _, gives := range []bool{true, false} {
			options := fresh(t, options)
			m := newMeddled(t, options)
			m.withForgedTag()
			m.restart(options)
			tagging := []fleet.Tagging{{Template: 1, Tag: "forged"}}
			if gives {
				m.edit(fleet.Edit{Tag: tagging})
			} else {
				m.edit(fleet.Edit{Untag: tagging})
			}
			m.wantTemplateTag("given or taken", gives, false)
			m.wantIntact()
			m.restart(options)
			m.wantTemplateTag("given or taken, and after a start", gives, true)
		}
	})
}

// Another program gave a device a tag, or added a folder root, while the server ran. The next edit of another tag or
// root had it count.
func TestAnEditDoesNotReadForgedRowsIntoMemory(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		id := deviceN(1).ID
		m.exec(`INSERT INTO device_tags (device_id, tag) VALUES ($1, 'forged')`, string(id))
		m.edit(fleet.Edit{Tag: []fleet.Tagging{{Device: id, Tag: "another"}}})
		if tags := must(m.Registry(t.Context()))(t).Devices[id].Tags; slices.Contains(tags, "forged") {
			t.Errorf("the device has the tags %q", tags)
		}
		if m.Tampering() == nil {
			t.Error("nobody is told of the forged tag")
		}
		m.exec(`INSERT INTO folder_roots (tag, path) VALUES ('office', '/')`)
		must(m.PutFolderRoots(t.Context(), "office", []string{"~/Sync", "~/Work"}, nil))(t)
		m.exec(`INSERT INTO author_keys (tag, key) VALUES ('office', 'gui.password')`)
		must(m.PutAuthorKeys(t.Context(), "office", []string{"options.maxSendKbps"}, nil))(t)
		m.edit(fleet.Edit{Untag: []fleet.Tagging{{Device: id, Tag: "forged"}}})
		m.wantIntact()
	})
}

// Somebody changed who saved vars to an admin. The admin who then changed another var signed the forged one.
func TestAChangeOfOneVarDoesNotAnswerForForgedOnes(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		of := fleet.VarsOwner{Tag: "office"}
		put := func(vars fleet.Vars) {
			t.Helper()
			m.edit(fleet.Edit{Vars: []fleet.VarsChange{{VarsOwner: of, SavedVars: fleet.SavedVars{Vars: vars, SavedBy: "admin",
				SavedRole: fleet.RoleAdmin}}}})
		}
		want := func(what string, role fleet.Role) {
			t.Helper()
			if got := must(m.Registry(t.Context()))(t).TagVars["office"].SavedRole; got != role {
				t.Errorf("%s, the vars count as saved by %q, want %q", what, got, role)
			}
		}
		m.exec(`UPDATE tag_vars SET saved_by = 'somebody', saved_role = 'admin' WHERE tag = 'office'`)
		for _, restart := range []bool{false, true} {
			if restart {
				m.restart(options)
			}
			put(fleet.Vars(`{"x":0,"y":1}`))
			want("with one more", "")
			put(fleet.Vars(`{"x":0}`))
			want("with one less", "")
		}
		put(fleet.Vars(`{"x":0}`))
		want("saved again with nothing changed", fleet.RoleAdmin)
		m.wantIntact()
		m.exec(`UPDATE tag_vars SET saved_role = 'operator' WHERE tag = 'office'`)
		put(fleet.Vars(`{"x":7,"y":1}`))
		want("all replaced", fleet.RoleAdmin)
		m.wantIntact()
	})
}

package store

import (
	"context"
	"slices"
	"testing"

	"muster/internal/fleet"
)

func as(t *testing.T, role fleet.Role) context.Context {
	t.Helper()
	return fleet.WithRole(fleet.WithActor(t.Context(), "a "+string(role)), role)
}

// belowAdmin are all who may not change a protected tag; "" is Muster by itself.
var belowAdmin = []fleet.Role{"", fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor}

func TestOnlyAnAdminPutsAProtectedTagOnADeviceOrTakesItOff(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		admin := as(t, fleet.RoleAdmin)
		with, without := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID
		if err := s.ProtectTag(admin, "finance", true); err != nil {
			t.Fatal(err)
		}
		must(s.TagDevice(admin, with, "finance", nil))(t)
		before := must(s.Registry(t.Context()))(t)
		for _, role := range belowAdmin {
			_, err := s.TagDevice(as(t, role), without, "finance", nil)
			wantCode(t, err, fleet.CodeForbidden)
			_, err = s.UntagDevice(as(t, role), with, "finance", nil)
			wantCode(t, err, fleet.CodeForbidden)
			_, err = s.DeleteTag(as(t, role), "finance", nil)
			wantCode(t, err, fleet.CodeForbidden)
			must(s.TagDevice(as(t, role), with, "finance", nil))(t) // it has it
			must(s.UntagDevice(as(t, role), without, "finance", nil))(t)
		}
		if after := must(s.Registry(t.Context()))(t); after.Generation != before.Generation {
			t.Errorf("what was refused made generation %d", after.Generation)
		}
		must(s.UntagDevice(admin, with, "finance", nil))(t)
		if err := s.ProtectTag(admin, "finance", false); err != nil {
			t.Fatal(err)
		}
		must(s.TagDevice(as(t, fleet.RoleOperator), without, "finance", nil))(t)
		wantCode(t, s.ProtectTag(admin, "", true), fleet.CodeInvalid)
	})
}

func TestAnUndoByAnAuthorTookAProtectedTagOff(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		admin := as(t, fleet.RoleAdmin)
		d := put(t, s, deviceN(1)).ID
		must(s.TagDevice(admin, d, "finance", nil))(t)
		tagged := must(s.Registry(t.Context()))(t).Generation
		if err := s.ProtectTag(admin, "finance", true); err != nil {
			t.Fatal(err)
		}
		r := fleet.Rollout{ID: 1, Carries: []int64{tagged}}
		settled := func() fleet.RolloutWrite {
			return fleet.RolloutWrite{Settled: &fleet.Registry{Generation: tagged + 1}}
		}
		_, err := s.UndoRollout(as(t, fleet.RoleAuthor), r, settled())
		wantCode(t, err, fleet.CodeForbidden)
		_, err = s.UndonePreview(as(t, fleet.RoleAuthor), r)
		wantCode(t, err, fleet.CodeForbidden)
		if tags := must(s.Registry(t.Context()))(t).Devices[d].Tags; !slices.Contains(tags, "finance") {
			t.Errorf("the device has %v", tags)
		}
		must(s.UndoRollout(admin, r, settled()))(t)
		if tags := must(s.Registry(t.Context()))(t).Devices[d].Tags; len(tags) != 0 {
			t.Errorf("an admin's undo left %v", tags)
		}
	})
}

func TestAnOperatorGaveATemplateOfAProtectedTagToOtherDevices(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		admin, operator := as(t, fleet.RoleAdmin), as(t, fleet.RoleOperator)
		guarded := must(s.CreateTemplate(admin, fleet.Template{Op: fleet.OpSet, Key: "options", Text: "{}"}))(t).ID
		free := must(s.CreateTemplate(admin, fleet.Template{Op: fleet.OpSet, Key: "options", Text: "{}"}))(t).ID
		if err := s.ProtectTag(admin, "finance", true); err != nil {
			t.Fatal(err)
		}
		_, err := s.TagTemplate(operator, free, "finance", nil)
		wantCode(t, err, fleet.CodeForbidden)
		must(s.TagTemplate(as(t, fleet.RoleAuthor), guarded, "finance", nil))(t)
		_, err = s.TagTemplate(operator, guarded, "laptops", nil)
		wantCode(t, err, fleet.CodeForbidden)
		_, err = s.UntagTemplate(operator, guarded, "finance", nil)
		wantCode(t, err, fleet.CodeForbidden)
		must(s.TagTemplate(operator, free, "laptops", nil))(t)
	})
}

func TestTheTagsOfATokensScopeAreProtected(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		token := fleet.Token{Name: "berlin", Role: fleet.RoleOperator, Hash: "h", CreatedAt: seenAt,
			Scope: fleet.ScopeOf([]fleet.Tag{"berlin", "office"})}
		if err := s.CreateToken(as(t, fleet.RoleAdmin), token); err != nil {
			t.Fatal(err)
		}
		protected := must(s.Registry(t.Context()))(t).Protected
		if len(protected) != 2 || !protected["berlin"] || !protected["office"] {
			t.Errorf("got %v", protected)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if protected := must(open(t, options).Registry(t.Context()))(t).Protected; len(protected) != 2 {
			t.Errorf("got %v after a restart", protected)
		}
	})
}

func TestTheScopeOfAUserEndsWithARoleThatHasNone(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		admin := as(t, fleet.RoleAdmin)
		scope, author, viewer := fleet.ScopeOf([]fleet.Tag{"berlin"}), fleet.RoleAuthor, fleet.RoleViewer
		_, err := s.CreateUser(admin, fleet.User{Name: "anna", Role: author, Scope: scope})
		wantCode(t, err, fleet.CodeInvalid)
		must(s.CreateUser(admin, fleet.User{Name: "anna", Role: viewer, Scope: scope}))(t)
		if !must(s.Registry(t.Context()))(t).Protected["berlin"] {
			t.Error("the tag of the scope is not protected")
		}
		_, err = s.PutUser(admin, fleet.PutUser{Name: "anna", Role: &author, Scope: &scope})
		wantCode(t, err, fleet.CodeInvalid)
		for _, step := range []struct {
			put  fleet.PutUser
			want fleet.Scope
		}{
			{fleet.PutUser{Password: new("hash")}, scope}, {fleet.PutUser{Role: &author}, fleet.Scope{}},
			{fleet.PutUser{Role: &viewer}, fleet.Scope{}}, {fleet.PutUser{Scope: &scope}, scope},
			{fleet.PutUser{Scope: &fleet.Scope{}}, fleet.Scope{}},
		} {
			step.put.Name = "anna"
			put := must(s.PutUser(admin, step.put))(t)
			if got := must(s.User(t.Context(), "anna"))(t); got.Scope != step.want || put.Scope != step.want {
				t.Errorf("%+v: got the scope %s, want %s", step.put, got.Scope, step.want)
			}
		}
	})
}

// The tags of a template that carries a protected one are an author's, also where a tag is deleted as a whole.
func TestAnOperatorDeletedATagOfATemplateWithAProtectedOne(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		admin, operator := as(t, fleet.RoleAdmin), as(t, fleet.RoleOperator)
		var ids []int64
		for range 2 {
			ids = append(ids, must(s.CreateTemplate(admin, fleet.Template{Op: fleet.OpSet, Key: "options", Text: "{}"}))(t).ID)
			must(s.TagTemplate(admin, ids[len(ids)-1], "laptops", nil))(t)
		}
		must(s.TagTemplate(admin, ids[1], "finance", nil))(t)
		if err := s.ProtectTag(admin, "finance", true); err != nil {
			t.Fatal(err)
		}
		_, err := s.DeleteTag(operator, "laptops", nil)
		wantCode(t, err, fleet.CodeForbidden)
		must(s.UntagTemplate(as(t, fleet.RoleAuthor), ids[1], "laptops", nil))(t)
		must(s.DeleteTag(operator, "laptops", nil))(t) // only a template without a protected tag carries it
	})
}

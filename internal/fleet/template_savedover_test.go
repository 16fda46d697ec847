package fleet

import "testing"

// An admin who changed the label of a template answered for a text that another program had written.
func TestWhoSavesATemplateOfAnUnknownAuthorAgainAnswersForIt(t *testing.T) {
	unknown := Template{Label: "a", Priority: 1, Op: OpSet, Key: "options.maxSendKbps", Text: "1"}
	byAdmin := unknown
	byAdmin.SavedBy, byAdmin.SavedRole = "root", RoleAdmin
	if got := byAdmin.SavedOver(unknown); got.SavedRole != RoleAdmin {
		t.Errorf("saved again as it is: got %q", got.SavedRole)
	}
	for what, change := range map[string]func(*Template){
		"label": func(t *Template) { t.Label = "b" }, "priority": func(t *Template) { t.Priority = 2 }} {
		changed := byAdmin
		change(&changed)
		if got := changed.SavedOver(unknown); got.SavedRole != "" {
			t.Errorf("with another %s: got %q", what, got.SavedRole)
		}
	}
	author := unknown
	author.SavedRole = RoleAuthor
	if got := byAdmin.SavedOver(author); got.SavedRole != RoleAuthor {
		t.Errorf("of an author: got %q", got.SavedRole)
	}
}

package api

// ApplyChanges is the body of a POST of changes of templates, tags and vars. All of them are stored in one
// generation, or none.
type ApplyChanges struct {
	WhatIf
	Generation *int64 `json:"generation,omitempty" doc:"That the plan of these changes was compared with; when templates, tags, vars or revocations were changed since, the answer is 412. Without it, the present one"`
}

// AppliedChanges is the answer to a POST of changes.
type AppliedChanges struct {
	Generation   int64    `json:"generation" doc:"Of the templates and tags as they are now; the one before when nothing differed"`
	NewTemplates []int64  `json:"newTemplates" nullable:"false" doc:"IDs of the new templates, in their order"`
	Warnings     []string `json:"warnings" nullable:"false" doc:"What is most probably a mistake in the new and changed templates"`
}

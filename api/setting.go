package api

// Setting is a setting of the server: a policy that an admin changes while the server runs.
type Setting struct {
	Name      string   `json:"name" doc:"As in the table of settings"`
	Group     string   `json:"group" doc:"Heading under which people find it"`
	Kind      string   `json:"kind" enum:"duration,number,switch,threshold,waves,folder,text,secret,choices,choice,tags" doc:"How the value is read: duration: 30s, 24h or 90d; switch: true or false; threshold: N, N% or none; waves: as 1,10%,rest; folder: a whole path; text and secret: one line, of which a secret is never shown; choices: some of choices, with commas between; choice: one of choices; tags: tags with commas between"`
	Help      string   `json:"help" doc:"What it does, one sentence"`
	Value     string   `json:"value" doc:"What holds now"`
	Shown     string   `json:"shown" doc:"The value as people read it"`
	From      string   `json:"from" doc:"Where the value comes from, for people: default, set by anna, set by flag --soak"`
	Source    string   `json:"source" enum:"default,flag,database,guard" doc:"Where the value comes from. guard: something else than Muster changed the database, so a strict value holds"`
	Default   string   `json:"default" doc:"Its value when nobody set it"`
	Range     string   `json:"range" doc:"Which values are allowed, for people"`
	Stored    *string  `json:"stored,omitempty" required:"false" doc:"The value in the database, also where a flag overrides it"`
	HasStored bool     `json:"hasStored,omitzero" required:"false" doc:"Something is stored, which a reset removes"`
	SetBy     string   `json:"setBy,omitzero" required:"false" doc:"Who set the stored value"`
	SetAt     *Time    `json:"setAt,omitempty" required:"false" doc:"null: nobody set it"`
	Flag      string   `json:"flag,omitzero" required:"false" doc:"Flag of muster serve that overrides the stored value"`
	Least     string   `json:"least,omitzero" required:"false" doc:"Smallest value; blank: no limit"`
	Most      string   `json:"most,omitzero" required:"false" doc:"Largest value; blank: no limit"`
	Zero      string   `json:"zero,omitzero" required:"false" doc:"What the duration 0 means; absent: 0 is not allowed"`
	Choices   []string `json:"choices,omitzero" required:"false" nullable:"false" doc:"The values that it may have; empty: any"`
	Deletes   string   `json:"deletes,omitzero" required:"false" doc:"What a smaller value deletes for good, and when"`
	Tests     bool     `json:"tests,omitzero" required:"false" doc:"A value can be tried before it is set"`
	Restart   bool     `json:"restart,omitzero" required:"false" doc:"A change takes effect with the next start of the server"`
	Warning   string   `json:"warning,omitzero" required:"false" doc:"Why the stored value does not hold"`
}

// TestSetting is the body of a POST that tries a value of a setting.
type TestSetting struct {
	Value *string `json:"value,omitempty" required:"false" doc:"Missing: the value that holds"`
}

// SettingTested is what a trial found. A value that does not work is an error.
type SettingTested struct {
	Found string `json:"found" doc:"For people"`
}

// PutSetting is the body of a PUT of a setting.
type PutSetting struct {
	Value *string `json:"value" doc:"As a text; 30m, 10%, true"`
}

package api

// Seal is the state of the keys that seal the database.
type Seal struct {
	Key     string   `json:"key" doc:"ID of the key that seals"`
	Older   []string `json:"older" nullable:"false" doc:"IDs of the keys that something may still be sealed with; none when no rotation is under way"`
	Trouble string   `json:"trouble" doc:"Why a rotation does not come to its end; blank when it does"`
}

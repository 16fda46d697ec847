package api

// MessageHeader is the header of a write in which a person says what the change is for: one line of UTF-8 text of at
// most 200 characters, percent-encoded. It becomes the title of the change.
const MessageHeader = "Muster-Message"

// What a new board begins with, and the words for it.

export const COLUMNS = { todo: "To do", doing: "In progress", done: "Done" };

export const TEAM = ["Mira", "Jonas", "Priya"];

export const FIRST_TASKS = [
  { id: "HB-21", title: "Write the release notes", owner: "Mira", column: "todo", blocked: "" },
  { id: "HB-22", title: "Translate the welcome mails", owner: "Jonas", column: "todo", blocked: "Waits for the final English texts" },
  { id: "HB-24", title: "Book the launch webinar", owner: "Priya", column: "todo", blocked: "" },
  { id: "HB-17", title: "Import boards from a spreadsheet", owner: "Jonas", column: "doing", blocked: "" },
  { id: "HB-19", title: "Switch the payment provider", owner: "Priya", column: "doing", blocked: "No answer from the bank yet" },
  { id: "HB-20", title: "Test on small screens", owner: "Mira", column: "doing", blocked: "" },
  { id: "HB-12", title: "Keyboard shortcuts", owner: "Mira", column: "done", blocked: "" },
  { id: "HB-14", title: "Faster search", owner: "Jonas", column: "done", blocked: "" },
  { id: "HB-15", title: "New price list", owner: "Priya", column: "done", blocked: "" },
];

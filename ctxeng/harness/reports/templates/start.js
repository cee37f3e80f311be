for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
document.getElementById("path").addEventListener("click", (event) => {
  if (event.target.id === "path") closePath();  // outside of its text
});
document.getElementById("path").addEventListener("close", () => opener?.focus());
if (document.getElementById("index")) startCells();

import type { FilePart } from "../../api/types";

/** The server takes 16 MB in one request, and base64 makes files a third larger. */
export const MAX_ATTACHED_MB = 11;

/** The size of the files themselves, in bytes. */
export const sizeOf = (files: FilePart[]) => files.reduce((sum, file) => sum + (file.data.length * 3) / 4, 0);

export const readFiles = (files: Iterable<File>): Promise<FilePart[]> => Promise.all([...files].map(readFile));

function readFile(file: File): Promise<FilePart> {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.onerror = () => reject(reader.error ?? new Error(file.name));
    reader.onload = () => {
      const data = String(reader.result).replace(/^[^,]*,/, ""); // data:TYPE;base64,DATA
      resolve({ type: "file", media_type: file.type || "application/octet-stream", name: file.name, data });
    };
    reader.readAsDataURL(file);
  });
}

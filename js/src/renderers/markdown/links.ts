/** Which addresses in written text become links or pictures. */

const LINKS = new Set(["http:", "https:", "mailto:"]);
const PICTURE_DATA = /^data:image\/(png|jpeg|gif|webp);base64,[a-z0-9+/=\s]*$/i;

/** Returns the address if a click may open it, else null. */
export function linkAddress(text: string): string | null {
  const url = parse(text);
  return url && LINKS.has(url.protocol) ? url.href : null;
}

/** Returns where a picture would be fetched from, or null where it may not be fetched at all. */
export function pictureAddress(text: string): URL | null {
  const url = parse(text);
  return url && (url.protocol === "http:" || url.protocol === "https:") ? url : null;
}

/** Says whether a picture is in its address and shows nothing to anybody. */
export function isPictureData(text: string): boolean {
  return PICTURE_DATA.test(text);
}

function parse(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null; // a relative address means nothing here
  }
}

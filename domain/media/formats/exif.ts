/** Reads the orientation of a photo from its Exif data. Cameras store the pixels as their sensor sees them, and the orientation in Exif. */

/** The Exif data of a JPEG starts with these bytes. Programs accept them in other formats, too. */
const mark = 'Exif\0\0';
const orientationTag = 0x0112;
const shortType = 3;
const entryBytes = 12;

/**
 * @param exif TIFF data, with or without the bytes that start the Exif data of a JPEG
 * @returns whether width and height must be exchanged (orientation 5 to 8); false for unreadable data
 */
export function isRotated(exif: Buffer): boolean {
  try {
    const orientation = orientationOf(
      exif.toString('latin1', 0, mark.length) === mark ? exif.subarray(mark.length) : exif,
    );
    return orientation >= 5 && orientation <= 8;
  } catch (error) {
    if (error instanceof RangeError) return false; // an offset is beyond the end of the data
    throw error;
  }
}

/** @returns the orientation in the first directory; 1 if it has none @throws RangeError */
function orientationOf(tiff: Buffer): number {
  const order = tiff.toString('latin1', 0, 4);
  if (order !== 'II*\0' && order !== 'MM\0*') return 1;
  const isLittle = order === 'II*\0';
  const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  const entries = short(directory);
  for (let at = directory + 2; at < directory + 2 + entries * entryBytes; at += entryBytes) {
    if (short(at) === orientationTag) return short(at + 2) === shortType ? short(at + 8) : 1;
  }
  return 1;
}

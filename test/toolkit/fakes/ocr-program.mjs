/**
 * A program with the command line of ocrmypdf. It uses pdfkit to write a PDF with words on the requested pages. The first argument selects
 * whether and how the program fails. Usage: `node ocr-program.mjs MODE INPUT OUTPUT LANGUAGES PAGES`
 */
import { spawn } from 'node:child_process';
import { appendFileSync, createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import PDFDocument from 'pdfkit';

const [mode, input, output, languages, pages = ''] = process.argv.slice(2);
const [behavior, detail] = mode.split('=');
const pagesToRead = pages.split(',').flatMap((range) => {
  const [from, to = from] = range.split('-').map(Number);
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
});
const isTrial = input.endsWith('trial.pdf');
const count = (readFileSync(input, 'latin1').match(/\/Type \/Page\b/g) ?? []).length;
const hang = () => setInterval(() => undefined, 1_000);

function write(pageCount, read) {
  const pdf = new PDFDocument({ autoFirstPage: false, size: 'A5' });
  pdf.pipe(createWriteStream(output));
  for (let page = 1; page <= pageCount; page++) {
    pdf.addPage();
    if (read.includes(page)) pdf.text(`The words of page ${page} were read in ${languages}.`);
    else pdf.rect(10, 10, 100, 100).fill();
  }
  pdf.end();
}

if (isTrial && behavior !== 'no-trial') write(1, []);
else if (behavior === 'no-trial') process.exitCode = 3;
else if (behavior === 'read') write(count, pagesToRead);
else if (behavior === 'log') {
  appendFileSync(detail, `${languages} ${pages}\n`);
  write(count, pagesToRead);
} else if (behavior === 'no-words') write(count, []);
else if (behavior === 'other-pages') write(count + 1, pagesToRead);
else if (behavior === 'fail') process.exitCode = 6;
else if (behavior === 'fail-on') {
  if (pagesToRead.includes(Number(detail))) process.exitCode = 2;
  else write(count, pagesToRead);
} else if (behavior === 'no-file') process.exitCode = 0;
else if (behavior === 'no-pdf') writeFileSync(output, 'These are words, and no PDF.');
else if (behavior === 'hang') {
  // Starts a child process that continues after the end of the program, like ocrmypdf. The child is in the process group of the program.
  spawn(process.execPath, ['-e', `setInterval(() => {}, 1000) // ${detail}`], { stdio: 'ignore' });
  appendFileSync(detail, 'begun');
  hang();
} else if (behavior === 'hoard') {
  const buffers = [];
  setInterval(() => buffers.push(Buffer.alloc(50_000_000, 1)), 1);
} else throw new Error(`Unknown mode ${mode}`);

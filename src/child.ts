/**
 * The entry of child processes where there are files to choose from: in the bundle, theirs has a sixth of main.js, and a
 * start takes half of the processor time (21 ms instead of 43; a confined process starts twice).
 */
void import('./children.ts').then(({ runChild }) => runChild(process.argv.slice(2)))

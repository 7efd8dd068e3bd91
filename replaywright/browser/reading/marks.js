/*
 * Drawing numbered marks on a picture of the page. Not part of the agent: it is evaluated in the agent's world of the top
 * document when a planner is to see the page. It draws on a canvas that is in no document, and the digits with pixels of
 * its own instead of a font, which a page could have replaced: the page is not read, changed or notified.
 */

/** Colours that white digits can be read on; neighbours have different ones. */
const COLOURS = ["#c1121f", "#0353a4", "#006d3c", "#7b2cbf", "#8a4b08", "#00696f", "#ad1474", "#33415c"];
/** The ten digits: seven rows of five pixels each, a row as a digit of base 32. */
const GLYPHS = ["ehhhhhe", "4c4444e", "eh168gv", "u11e11u", "26aiv22", "vgu11he", "68guhhe", "v124888", "ehhehhe", "ehhf12c"];
const ROWS = 7;
const COLUMNS = 5;
const DOT = 2;
const MARGIN = 2;
const LABEL_HEIGHT = ROWS * DOT + 2 * MARGIN;
const LINE = 2;

const labelWidth = (number) => (String(number).length * (COLUMNS + 1) - 1) * DOT + 2 * MARGIN;

/** Shared area of two boxes `[left, top, right, bottom]`. */
function shared(a, b) {
  const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  return width > 0 && height > 0 ? width * height : 0;
}

/** Cost of a label over an element: it grows with the hidden share, so that no small element disappears. */
function hiding(label, box) {
  const part = shared(label, box);
  return part && part + (1000 * part) / Math.max(1, (box[2] - box[0]) * (box[3] - box[1]));
}

function aroundOf(corners) {
  const across = corners.map(([x]) => x), down = corners.map(([, y]) => y);
  return [Math.min(...across), Math.min(...down), Math.max(...across), Math.max(...down)];
}

/** Position of a label: at its element, off other labels, over as little of other elements as possible. */
function placeLabel(mark, boxes, labels, size) {
  const [left, top, right, bottom] = mark.box;
  const width = labelWidth(mark.number);
  const spots = [[left, top - LABEL_HEIGHT], [right - width, top - LABEL_HEIGHT], [left - width, top],
    [right, top], [left, bottom], [right - width, top], [left, top]];
  let best = null, least = Infinity;
  for (const [x, y] of spots) {
    const at = [Math.max(0, Math.min(x, size.width - width)), Math.max(0, Math.min(y, size.height - LABEL_HEIGHT))];
    const label = [at[0], at[1], at[0] + width, at[1] + LABEL_HEIGHT];
    let cost = 0;
    for (const box of boxes) cost += hiding(label, box);
    for (const other of labels) cost += 50 * shared(label, other);
    if (cost < least) [best, least] = [label, cost];
    if (!cost) break;
  }
  return best;
}

function drawLabel(context, [left, top, right, bottom], number, colour) {
  context.fillStyle = colour;
  context.fillRect(left, top, right - left, bottom - top);
  context.fillStyle = "#ffffff";
  let x = left + MARGIN;
  for (const digit of String(number)) {
    const rows = GLYPHS[Number(digit)];
    for (let row = 0; row < ROWS; row++) {
      for (let column = 0; column < COLUMNS; column++) {
        if (parseInt(rows[row], 32) & (16 >> column)) context.fillRect(x + column * DOT, top + MARGIN + row * DOT, DOT, DOT);
      }
    }
    x += (COLUMNS + 1) * DOT;
  }
}

/** Base64 of bytes; the other way round is `bytesOf`. */
function textOf(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 32768) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 32768)));
  }
  return btoa(parts.join(""));
}

function bytesOf(text) {
  const signs = atob(text);
  const bytes = new Uint8Array(signs.length);
  for (let at = 0; at < signs.length; at++) bytes[at] = signs.charCodeAt(at);
  return bytes;
}

/**
 * The picture (base64 of a PNG of the window) with the marks on it: `{number, corners}`, corners in CSS pixels of the
 * window. It has one pixel for each of these, or fewer where a side would have more than `longest`.
 */
async function draw(picture, marks, longest) {
  const image = await createImageBitmap(new Blob([bytesOf(picture)], { type: "image/png" }));
  const scale = Math.min(1, longest / Math.max(innerWidth, innerHeight));
  const size = { width: Math.max(1, Math.round(innerWidth * scale)), height: Math.max(1, Math.round(innerHeight * scale)) };
  const canvas = new OffscreenCanvas(size.width, size.height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, size.width, size.height);
  image.close();
  const placed = marks.map(({ number, corners }) => {
    const scaled = corners.map(([x, y]) => [Math.round(x * scale), Math.round(y * scale)]);
    return { number, corners: scaled, box: aroundOf(scaled) };
  });
  const boxes = placed.map(({ box }) => box);
  const labels = [];
  const colourOf = (number) => COLOURS[number % COLOURS.length];
  context.lineWidth = LINE;
  for (const { number, corners, box } of placed) {
    context.strokeStyle = colourOf(number);
    context.beginPath();
    // Inside of the element: marks of neighbours do not lie on each other.
    const [middleX, middleY] = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
    for (const [x, y] of corners) {
      context.lineTo(x - Math.sign(x - middleX) * (LINE / 2), y - Math.sign(y - middleY) * (LINE / 2));
    }
    context.closePath();
    context.stroke();
  }
  for (const mark of placed) {
    const label = placeLabel(mark, boxes, labels, size);
    labels.push(label);
    drawLabel(context, label, mark.number, colourOf(mark.number));
  }
  const drawn = await canvas.convertToBlob({ type: "image/png" });
  return textOf(new Uint8Array(await drawn.arrayBuffer()));
}

globalThis.replaywrightMarks = Object.freeze({ draw });

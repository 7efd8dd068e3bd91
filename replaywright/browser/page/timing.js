/* Scheduling: in a new task, or after the page has been drawn. */

const taskChannel = new MessageChannel();
const tasks = [];
taskChannel.port1.onmessage = () => tasks.shift()?.();

/** Runs `work` in a task of its own, as soon as there is one: timers would wait for a millisecond or more. */
function inNewTask(work) {
  tasks.push(work);
  taskChannel.port2.postMessage(0);
}

/** Two frames on: what a page moves along with the pointer is drawn where it belongs by then. */
function framesDrawn() {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 100); // where no frames are drawn
    requestAnimationFrame(() => requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    }));
  });
}

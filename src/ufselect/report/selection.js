/* The page of a selection. */

function drawPage(data) {
  data.features.shorts = shortNames(data.features.names, (text) => text.length <= LONGEST_NAME);
  drawTable(data.features, data.download);
  drawScores(data.features);
  drawStructure(data.curves, data.features);
  drawCosts(data.costs);
  drawSpectrum(data.spectrum, data.features);
  drawSamples(data.samples, data.features);
  drawMarkers(data.markers, data.features);
  drawRedundancy(data.correlations, data.features);
  drawConvergence(data.objective);
  drawImage(data.image, data.features);
}
